#pragma once
// Orthogonalisation by the Newton-Schulz iteration of Muon (Jordan and others 2024, "Muon: An optimizer for hidden
// layers in neural networks"): with X = M / max(|M|, 1e-7), the Frobenius norm, and the transpose where M is tall,
//   repeat: A = X X^T;  X = a X + (b A + c A A) X      (a, b, c) = (3.4445, -4.7750, 2.0315)
// It moves the singular values towards 1 (to about 0.7 .. 1.2 after 5 steps) and keeps the singular vectors.

#include <ATen/core/Tensor.h>

namespace d9d {

// matrix fp32 or fp64 [R, C] -> [R, C], same dtype, computed in it. A matrix of zeros stays zero.
at::Tensor orthogonalized(const at::Tensor& matrix, int steps);

}  // namespace d9d
