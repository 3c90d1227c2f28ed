#pragma once
// A weight that the first and the last stage of a pipeline share (tied embeddings). Each has a copy
// with the same name and layout. The layout has one more axis, on which the weight is replicated, so a
// checkpoint stores it once and a norm counts it once. At the end of a step the two gradients are
// added (train/gradient/tied_gradients.hpp).

#include <optional>

#include "runtime/tensor/layout.hpp"

namespace d9d {

// The name of that axis, which is not in the mesh. Copy 0 is the first stage's, copy 1 the last stage's.
inline constexpr const char* tied_axis = "tied";

LayoutAxis axis_of_tied_copy(int copy);

// Returns which copy this is, or none if the weight is not tied.
std::optional<int> tied_copy(const Layout& layout);

}  // namespace d9d
