#pragma once
// Initial values of parameters: a pure function of seed, global name and global element, so that every mesh
// and every slicing starts from the same weights.

#include <cstdint>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Fills the local block of every parameter with what its Initial says: the constant, or value * normal(e) of
// RandomStream(seed, "init:" + name) with e the element's row-major index in the global tensor, drawn in fp32
// and rounded to the parameter's dtype. Parameters are contiguous; another device gets its values copied.
void initialise(const std::vector<StageParameter>& parameters, std::uint64_t seed);

}  // namespace d9d
