#include "kernels/cross_entropy/loss_memory.hpp"

#include "kernels/cpu/isa.hpp"
#include "tests/kernels/cross_entropy/loss_cases.hpp"
#include "tests/support/live_bytes.hpp"

namespace d9d::test {
namespace {

using kernels::held_logits;
using kernels::LossShape;
using kernels::Place;

class LossOnTheCpu : public testing::TestWithParam<LossCase> {};

TEST_P(LossOnTheCpu, TakesTheMemoryThatIsCounted) {
  const LossMemory found = measured_loss<LiveBytes>(GetParam(), at::kCPU);

  // Without AVX-512 products copy operands in bfloat16, in every layer.
  const bool copies =
      GetParam().dtype == at::kBFloat16 && kernels::isa_of_this_machine() < kernels::Isa::avx512;
  const auto counted = kernels::loss_bytes(Place::cpu, shape_of(GetParam()), GetParam().parts);
  EXPECT_LE(found.kept, counted.copy + counted.kept);
  if (!copies) expect_counted(GetParam(), found, Place::cpu);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LossOnTheCpu, testing::ValuesIn(loss_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST(LossMemory, OfLogitsIsOfOneBlockWhoseTokensFollowTheVocabularyOfAllRanks) {
  const LossShape whole{.tokens = 100000, .hidden_size = 64, .vocabulary = 32768, .rows = 32768};
  LossShape part = whole;
  part.rows = 32768 / 4, part.of_part = true;

  EXPECT_EQ(held_logits(Place::cpu, whole).tokens, 128);
  EXPECT_EQ(held_logits(Place::cpu, part).tokens, 128);
  EXPECT_EQ(held_logits(Place::cpu, part).columns, 8192);
  EXPECT_EQ(held_logits(Place::gpu, whole).tokens, 8192);
  EXPECT_EQ(held_logits(Place::other, whole).rounded, 0);
}

TEST(LossMemory, OfALongVocabularyIsOfSomeColumnsButOnAGpuAndWhereRanksShareIt) {
  LossShape shape{.tokens = 100000, .hidden_size = 64, .vocabulary = 70000, .rows = 70000, .bytes = 2};

  EXPECT_TRUE(held_logits(Place::cpu, shape).by_columns);
  EXPECT_EQ(held_logits(Place::cpu, shape).rounded, 2048);
  EXPECT_FALSE(held_logits(Place::gpu, shape).by_columns);
  EXPECT_EQ(held_logits(Place::gpu, shape).rounded, 70000);
  shape.of_part = true;
  EXPECT_FALSE(held_logits(Place::cpu, shape).by_columns);
  EXPECT_EQ(held_logits(Place::cpu, shape).rounded, 8192);
}

}  // namespace
}  // namespace d9d::test
