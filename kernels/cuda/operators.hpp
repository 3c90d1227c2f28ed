#pragma once
// The operators `d9d::...` and their CUDA kernels, in torch's dispatcher.

#include <memory>

namespace d9d::cuda {

// d9d::rms_norm_forward(x, residual?, weight, eps, offset) -> (y, sum?, inverse fp32 [rows])
// d9d::rms_norm_backward(dy, x, extra?, weight, inverse, offset, want_dw) -> (dx, dw? fp32 [width])
// d9d::silu_mul_forward(gate, up) -> out
// d9d::silu_mul_backward(d_out, gate, up) -> (d_gate, d_up)
// fp32 and bf16; tensors [.., width] with dense rows. No autograd: the ops of kernels/ bring theirs. They
// stay registered while the result lives.
std::shared_ptr<void> register_operators();

}  // namespace d9d::cuda
