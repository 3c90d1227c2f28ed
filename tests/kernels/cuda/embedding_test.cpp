// Rows of a table against the CPU's.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

TEST_F(CudaOps, SmallEmbeddingsEqualTheCpus) {
  const at::Tensor ids = integers({3, 7}, 50, 0), none = integers({0}, 50, 0);
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : {1, 31, 64}) {
      const at::Tensor weight = values({50, width}, 1, dtype);
      expect_same_as_cpu(&OpTable::embedding, 1, ids, weight, 0, 50);
      expect_same_as_cpu(&OpTable::embedding, 1, none, weight, 0, 50);
      // Rows 10 .. 30 of the vocabulary are here.
      expect_same_as_cpu(&OpTable::embedding, 1, ids, weight.narrow(0, 0, 20), 10, 50);
    }
  }
}

TEST_F(CudaOps, SmallEmbeddingsOfIdsOutsideTheVocabularyAreRefused) {
  const auto embedding = (table_under_test().*(&OpTable::embedding)).function();
  const at::Tensor weight = there(values({8, 4}, 1, at::kFloat));

  EXPECT_THROW(embedding(there(at::full({2}, 8, at::kLong)), weight, 0, 8), c10::IndexError);
  EXPECT_THROW(embedding(there(at::full({2}, -1, at::kLong)), weight, 0, 8), c10::IndexError);
}

// Few rows with many tokens each, so that a row's tokens go through several
// chunks; a row of all tokens; tokens of other ranks.
TEST_F(CudaOps, SmallEmbeddingGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& [tokens, rows] :
         {std::pair<int64_t, int64_t>{0, 5}, {1, 5}, {20, 50}, {64, 1}, {300, 1}, {500, 4}, {1000, 30}}) {
      for (const int64_t width : {3, 16}) {
        const at::Tensor grad = values({tokens, width}, 2, dtype), ids = integers({tokens}, rows, 3);
        const at::Tensor poison =
            at::full({rows, width}, std::numeric_limits<double>::quiet_NaN(), at::kFloat);
        expect_same_as_cpu(&OpTable::embedding_dw, 10, grad, ids, poison, 0);
        expect_same_as_cpu(&OpTable::embedding_dw, 10, grad, ids.sub(1), values({rows, width}, 4, at::kFloat),
                           1);
        expect_same_as_cpu(&OpTable::embedding_dw, 1, grad, ids, at::zeros({rows, width}, at::kBFloat16), 0);
      }
    }
  }
}

}  // namespace
}  // namespace d9d::test
