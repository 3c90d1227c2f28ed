// AdamW with stochastic rounding: the CPU's bits.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::AdamWSettings;
using kernels::OpTable;
using kernels::RoundingNoise;

constexpr AdamWSettings third_update{
    .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 3, .grad_scale = 0.5};

// A whole tensor in fours and not, and a block of another: rows of 5 from column 2, in a tensor of 9 columns.
std::vector<RoundingNoise> noises() {
  const RoundingNoise whole{{1, 2, 3}, {4, 5, 3}, {.run = 1000}};
  const RoundingNoise odd{{1, 2, 3}, {4, 5, 3}, {.base = 1, .run = 1000}};
  const RoundingNoise block{
      {6, 7, 3}, {8, 9, 3}, {.base = 11, .run = 5, .dims = 1, .shape = {200}, .stride = {9}}};
  return {whole, odd, block};
}

TEST_F(CudaOps, SmallStochasticUpdatesHaveTheBitsOfTheCpus) {
  for (const auto grads : {at::kFloat, at::kBFloat16}) {
    for (const auto states : {at::kFloat, at::kBFloat16}) {
      for (const RoundingNoise& noise : noises()) {
        for (const int64_t begin : {0, 1}) {  // where four elements are one access, and where they are not
          const auto flat = [begin](std::uint64_t seed, at::ScalarType dtype) {
            return values({1001}, seed, dtype).abs().narrow(0, begin, 1000);
          };
          expect_same_as_cpu(&OpTable::stochastic_adamw_step, 0, flat(0, at::kBFloat16), flat(1, grads),
                             flat(2, states), flat(3, states), third_update, noise);
        }
      }
    }
  }
}

TEST_F(CudaOps, SmallStochasticCopiesHaveTheBitsOfTheCpus) {
  for (const RoundingNoise& noise : noises()) {
    expect_same_as_cpu(&OpTable::stochastic_copy, 0, values({1000}, 0, at::kFloat),
                       at::zeros({1000}, at::kBFloat16), noise.value_and_first, noise.place);
  }
}

}  // namespace
}  // namespace d9d::test
