#pragma once
// Stores numbers as bytes with a scale per block (Dettmers, Lewis, Shleifer and Zettlemoyer 2022, arXiv
// 2110.02861, sections 1.2, 1.3 and 2.1). A block is `block` adjacent elements; the last one may be
// shorter. Its scale is its largest magnitude. An element is scale * value[byte], the nearest of 256
// values in [-1, 1]:
//   either sign  +-10^e (0.1 + 0.9 (2 i + 1) / (2 n)), e = -6 .. 0, i < n = 2^(e + 6), the largest below zero
//                replaced by -1; and 0, 1. Byte 0 is 0, those above zero count up from it, the others down.
//   positive     the same with n = 2^(e + 7), above zero only; and 0, 1. Byte b is value b.
// The paper has -0.993 instead of -1. With -1 every scale is a value, so quantising restored numbers
// again makes the same bytes and scales. For the same reason a block whose scale is below 1e-30 is zero.
// With `positive` a number above zero never becomes zero, because a second moment of zero would leave
// only eps as the divisor.

#include "kernels/ops/optimizer_ops.hpp"

namespace d9d::kernels {

// x fp32 [n], contiguous, finite -> codes uint8 [n], scales fp32 [ceil(n / block)]; both are overwritten.
void quantize_blocks(const at::Tensor& x, int64_t block, CodeBook book, const at::Tensor& codes,
                     const at::Tensor& scales);
// -> fp32 [n], into a tensor of that size.
void dequantize_blocks(const at::Tensor& codes, const at::Tensor& scales, int64_t block, CodeBook book,
                       const at::Tensor& x);

}  // namespace d9d::kernels
