#pragma once
// A weight that the first and the last stage of a pipeline share (tied embeddings). Both have a copy, of one
// name and one layout, but for one axis more, on which it is replicated. So a checkpoint stores it once and a
// norm counts it once. At the end of a step the two gradients are added up (train/tied_gradients.hpp).

#include <optional>

#include "runtime/tensor/layout.hpp"

namespace d9d {

// No axis of the mesh. Copy 0 is the first stage's, copy 1 the last one's.
inline constexpr const char* tied_axis = "tied";

LayoutAxis axis_of_tied_copy(int copy);

// None of a weight that is not shared.
std::optional<int> tied_copy(const Layout& layout);

}  // namespace d9d
