#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matmul.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::gemm_avx512;
using d9d::kernels::GemmInput;
using d9d::kernels::Isa;
using d9d::kernels::cpu::gemm_input;
using d9d::kernels::cpu::transposed;
using d9d::test::values;

struct PairProduct {
  const char* name;
  Isa needs;
  decltype(&gemm_avx512) run;

  friend void PrintTo(const PairProduct& product, std::ostream* out) { *out << product.name; }
};

class GemmBf16 : public testing::TestWithParam<PairProduct> {
 protected:
  void SetUp() override {
    if (d9d::kernels::isa_of_this_machine() < GetParam().needs) {
      GTEST_SKIP() << "this machine has no " << d9d::kernels::name_of(GetParam().needs);
    }
  }
};

namespace {

// A matrix [rows, columns] as an operand, stored as it is or transposed. `stored` keeps its memory.
GemmInput operand(int64_t rows, int64_t columns, bool is_transposed, unsigned seed, at::Tensor& stored) {
  stored = values(is_transposed ? at::IntArrayRef{columns, rows} : at::IntArrayRef{rows, columns}, seed,
                  at::kBFloat16);
  return is_transposed ? transposed(gemm_input(stored)) : gemm_input(stored);
}

}  // namespace

// Sizes around those of a tile (14 x 32 and 32 x 32), of a word (2), of a register (32 in k), of the panels packed at
// once (128 columns) and of a panel (1024 in k).
TEST_P(GemmBf16, EqualsTheProductOfWidenedOperands) {
  for (const int64_t m : {1, 14, 17, 33}) {
    for (const int64_t n : {1, 16, 47, 130}) {
      for (const int64_t k : {1, 2, 31, 63, 1024, 1025}) {
        for (const int stored : {0, 1, 2, 3}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", stored " << stored);
          at::Tensor a, b;
          const GemmInput left = operand(m, k, (stored & 1) != 0, 1, a),
                          right = operand(k, n, (stored & 2) != 0, 2, b);
          const auto pairs = at::empty({m, n}), widened = at::empty({m, n});

          GetParam().run(m, n, k, left, right, {pairs.data_ptr(), n});
          gemm_avx512(m, n, k, left, right, {widened.data_ptr(), n});

          d9d::test::expect_close(pairs, widened, 2e-6, "product");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, GemmBf16,
                         testing::Values(PairProduct{"avx512_bf16", Isa::avx512_bf16,
                                                     d9d::kernels::gemm_bf16},
                                         PairProduct{"amx", Isa::amx, d9d::kernels::gemm_amx}),
                         [](const auto& one) { return std::string(one.param.name); });
