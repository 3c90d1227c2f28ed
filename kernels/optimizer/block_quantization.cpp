#include "kernels/optimizer/block_quantization.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

void check_blocks(const at::Tensor& x, int64_t block, const at::Tensor& codes, const at::Tensor& scales) {
  const int64_t count = x.numel();
  TORCH_CHECK(block > 0 && x.dim() == 1 && x.scalar_type() == at::kFloat && x.is_contiguous(), "blocks of ",
              block, " of ", x.sizes(), " ", x.scalar_type(), ": expected contiguous float32");
  TORCH_CHECK(codes.numel() == count && codes.scalar_type() == at::kByte && codes.is_contiguous() &&
                  scales.numel() == (count + block - 1) / block && scales.scalar_type() == at::kFloat &&
                  scales.is_contiguous(),
              "blocks of ", block, " of ", count, " elements have ", codes.numel(), " ", codes.scalar_type(),
              " codes and ", scales.numel(), " ", scales.scalar_type(),
              " scales: expected as many bytes, and a float32 for each block");
}

}  // namespace

void quantize_blocks(const at::Tensor& x, int64_t block, CodeBook book, const at::Tensor& codes,
                     const at::Tensor& scales) {
  check_blocks(x, block, codes, scales);
  run_op(&OpTable::quantize_blocks, x, block, book, codes, scales);
}

void dequantize_blocks(const at::Tensor& codes, const at::Tensor& scales, int64_t block, CodeBook book,
                       const at::Tensor& x) {
  check_blocks(x, block, codes, scales);
  run_op(&OpTable::dequantize_blocks, codes, scales, block, book, x);
}

}  // namespace d9d::kernels
