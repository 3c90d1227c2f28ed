#pragma once
// The initial values of parameters: a pure function of seed, global name and global element, so that a job
// starts from the same weights on every mesh.

#include <cstdint>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Fills this rank's block of every parameter as its Initial says: with the constant, or with value *
// normal(e) or value * (2 uniform(e) - 1) of RandomStream(seed, "init:" + name), where e is the element's
// row-major index in the global tensor. Values are drawn on the CPU in fp32, rounded to the parameter's
// dtype and copied to its device. Parameters must be contiguous.
void draw_initial_weights(const std::vector<StageParameter>& parameters, std::uint64_t seed);

// Returns the rows of the whole parameter from `first` on, as draw_initial_weights() draws
// them: fp32 [rows - first, ...].
at::Tensor drawn_rows_of(const StageParameter& parameter, std::int64_t first, std::uint64_t seed);

}  // namespace d9d
