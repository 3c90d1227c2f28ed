#include "kernels/cuda/optimizer/block_quantization.hpp"

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::CodeBook;

BlocksOfBytes call_of(const at::Tensor& x, int64_t block, CodeBook book, const at::Tensor& codes,
                      const at::Tensor& scales) {
  return {.count = x.numel(),
          .block = block,
          .positive = book == CodeBook::positive,
          .x = data_of<float>(x),
          .codes = data_of<std::uint8_t>(codes),
          .scales = data_of<float>(scales),
          .tables = kernels::code_tables(book)};
}

void quantize(const at::Tensor& x, int64_t block, CodeBook book, const at::Tensor& codes,
              const at::Tensor& scales) {
  const c10::DeviceGuard guard(x.device());
  check_launch(quantize_blocks(call_of(x, block, book, codes, scales), stream_of(x)), "quantize_blocks");
}

void dequantize(const at::Tensor& codes, const at::Tensor& scales, int64_t block, CodeBook book,
                const at::Tensor& x) {
  const c10::DeviceGuard guard(x.device());
  check_launch(dequantize_blocks(call_of(x, block, book, codes, scales), stream_of(x)), "dequantize_blocks");
}

}  // namespace

void add_block_quantization(kernels::OpTable& table) {
  table.quantize_blocks = quantize;
  table.dequantize_blocks = dequantize;
}

}  // namespace d9d::cuda
