// Softmax and cross entropy of logits against the CPU's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include <limits>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Rows of one logit, odd ones, such that take accesses of 16 bytes, and one that is longer than a block.
constexpr int64_t vocabularies[] = {1, 7, 64, 3001};

at::Tensor logits_of(int64_t rows, int64_t width) {
  return values({rows, width}, 0, at::kFloat).mul(20);
}

TEST_F(CudaOps, SmallCrossEntropiesEqualTheCpus) {
  for (const int64_t width : vocabularies) {
    for (const int64_t rows : {0, 1, 5}) {
      const at::Tensor labels = integers({rows}, width, 1), loss = at::full({rows}, nan, at::kFloat);
      for (const bool gradient : {false, true}) {
        for (const at::Tensor& rounded : {at::Tensor(), at::full({rows, width}, 0, at::kBFloat16)}) {
          expect_same_as_cpu(&OpTable::cross_entropy, 1, logits_of(rows, width), labels, gradient, rounded,
                             loss);
          expect_same_as_cpu(&OpTable::cross_entropy, 1, logits_of(rows, width), labels, gradient, rounded,
                             at::Tensor());
        }
      }
    }
  }
}

// Labels before, in and behind the columns 10 .. 10 + width.
TEST_F(CudaOps, SmallPartsOfAVocabularyEqualTheCpus) {
  for (const int64_t width : vocabularies) {
    const at::Tensor labels = integers({9}, width + 20, 1);
    const at::Tensor softmax =
        at::stack({values({9}, 2, at::kFloat).add(20), values({9}, 3, at::kFloat).add(5)});
    expect_same_as_cpu(&OpTable::vocabulary_statistics, 1, logits_of(9, width), labels, 10);
    for (const at::Tensor& rounded : {at::Tensor(), at::full({9, width}, nan, at::kBFloat16)})
      expect_same_as_cpu(&OpTable::cross_entropy_of_part, 1, logits_of(9, width), labels, 10, softmax,
                         rounded);
  }
}

TEST_F(CudaOps, SmallPartsAreJoinedAsByTheCpu) {
  const at::Tensor parts = values({3, 3, 300}, 0, at::kFloat).abs().add(0.5);
  // A part of a longer table of tokens.
  const at::Tensor softmax = at::full({2, 500}, nan, at::kFloat).narrow(1, 100, 300);
  expect_same_as_cpu(&OpTable::join_vocabulary, 1, parts, softmax, at::full({300}, nan, at::kFloat));
}

// The first part, before which the largest logit is -infinity, and a later one.
TEST_F(CudaOps, SmallColumnsOfAVocabularyEqualTheCpus) {
  for (const int64_t width : vocabularies) {
    const at::Tensor labels = integers({9}, width + 20, 1), nothing = at::full({9}, 0, at::kFloat);
    const at::Tensor none = at::full({9}, -std::numeric_limits<double>::infinity(), at::kFloat);
    const at::Tensor some = values({9}, 4, at::kFloat).mul(25), sums = values({9}, 5, at::kFloat).add(3);
    expect_same_as_cpu(&OpTable::cross_entropy_online, 1, logits_of(9, width), labels, 10,
                       at::stack({none, nothing, nothing}));
    expect_same_as_cpu(&OpTable::cross_entropy_online, 1, logits_of(9, width), labels, 10,
                       at::stack({some, sums, some}));
  }
}

TEST_F(CudaOps, SmallTokensThatCountAreThoseOfTheCpu) {
  at::Tensor labels = integers({50}, 10, 0);
  labels.masked_fill_(labels.lt(4), -100);

  expect_same_as_cpu(&OpTable::valid_tokens, 1, labels, -100, 10);
  expect_same_as_cpu(&OpTable::valid_tokens, 1, labels.narrow(0, 0, 0), -100, 10);
  EXPECT_THROW((table_under_test().*(&OpTable::valid_tokens)).function()(there(labels), -100, 9),
               c10::IndexError);
}

// Positive numbers: the CPU rounds a bf16 result twice.
TEST_F(CudaOps, SmallScaledSumsEqualTheCpus) {
  const at::Tensor factor = values({1}, 3, at::kFloat).abs();
  for (const auto of_x : {at::kFloat, at::kBFloat16}) {
    for (const auto of_into : {at::kFloat, at::kBFloat16}) {
      for (const int64_t width : {0, 5, 64}) {
        const at::Tensor x = values({3, width}, 0, of_x).abs(), into = values({3, width}, 1, of_into).abs();
        expect_same_as_cpu(&OpTable::add_scaled, 2, x, factor, at::full({3, width}, nan, of_into), 0);
        expect_same_as_cpu(&OpTable::add_scaled, 2, x, factor, into, 1);
      }
    }
  }
}

// To look at the values, the host would have to wait.
TEST_F(CudaOps, SmallGradientsAreNotAskedWhetherTheyAreUniform) {
  const auto uniform_value = (table_under_test().*(&OpTable::uniform_value)).function();

  EXPECT_FALSE(uniform_value(there(values({3}, 0, at::kFloat))).has_value());
  EXPECT_EQ(uniform_value(there(values({0}, 0, at::kFloat))), 1.0);
}

}  // namespace
}  // namespace d9d::test
