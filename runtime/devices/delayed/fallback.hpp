#pragma once
// Any op of torch on a delayed device: its CPU kernel, queued on the current stream.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace d9d::delayed {

// Shapes of results come from the same op on meta tensors. Where they depend on values, or where the result is no
// tensor, the host waits, and the wait is counted under the op's name.
void run_torch_op(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace d9d::delayed
