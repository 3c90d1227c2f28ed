// Numbers in blocks of bytes: the CPU's bytes, scales and values.
#include <ATen/ops/linspace.h>
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::CodeBook;
using kernels::OpTable;

constexpr int64_t block = 64;
constexpr int64_t blocks_of(int64_t count) {
  return (count + block - 1) / block;
}

void expect_the_cpus_bytes(const at::Tensor& x, CodeBook book) {
  const int64_t count = x.numel();
  expect_same_as_cpu(&OpTable::quantize_blocks, 0, x, block, book, at::zeros({count}, at::kByte),
                     at::zeros({blocks_of(count)}, at::kFloat));
}

// A last block that is not full, one of zeros, one of tiny numbers.
TEST_F(CudaOps, SmallBlocksOfBytesAreTheCpus) {
  const at::Tensor x = values({5 * block + 7}, 0, at::kFloat);
  x.narrow(0, block, block).zero_();
  x.narrow(0, 2 * block, block).mul_(1e-32);
  expect_the_cpus_bytes(x, CodeBook::either_sign);
  expect_the_cpus_bytes(x.abs(), CodeBook::positive);
}

// Magnitudes beside all values, over seven powers of ten.
TEST_F(CudaOps, SmallBlocksOfBytesAreTheCpusAtAllMagnitudes) {
  const at::Tensor x = at::linspace(-8, 0, 300 * block, at::kFloat).exp2().pow(2);
  expect_the_cpus_bytes(x, CodeBook::positive);
  expect_the_cpus_bytes(x.neg(), CodeBook::either_sign);
}

TEST_F(CudaOps, SmallBlocksOfBytesAreReadBackAsOnTheCpu) {
  const at::Tensor codes = at::linspace(0, 255, 5 * block + 7, at::kFloat).to(at::kByte),
                   scales = values({6}, 0, at::kFloat).abs();
  for (const CodeBook book : {CodeBook::either_sign, CodeBook::positive})
    expect_same_as_cpu(&OpTable::dequantize_blocks, 0, codes, scales, block, book,
                       at::zeros({codes.numel()}, at::kFloat));
}

}  // namespace
}  // namespace d9d::test
