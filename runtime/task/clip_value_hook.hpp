#pragma once
// The gradient hook `clip_value` (keys `match`, `limit`): each element of the gradients whose parameter's whole global
// name matches (`*` is any run of characters, `?` one) is brought into [-limit, limit], as by torch's clip_grad_value_.
// The gradients are the step's means; the norm is taken and clipped after it.

#include <memory>

#include "runtime/base/config/section.hpp"

namespace d9d {

class GradientHook;

// Input error of a wrong key.
std::shared_ptr<GradientHook> make_clip_value_hook(const config::Section& section);

}  // namespace d9d
