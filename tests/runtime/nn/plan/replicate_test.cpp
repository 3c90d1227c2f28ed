// Every rank holds all parameters and trains on samples of its own.
#include <gtest/gtest.h>

#include "tests/support/parallel_world.hpp"
#include "tests/support/parameter_text.hpp"

namespace d9d::test {
namespace {

class Replicate : public testing::TestWithParam<std::tuple<Qwen3Kind, bool>> {};
INSTANTIATE_TEST_SUITE_P(FamilyAndCheckpointing, Replicate,
                         testing::Combine(testing::Values(Qwen3Kind::dense, Qwen3Kind::moe),
                                          testing::Bool()));

TEST_P(Replicate, TrainsAsOneRankDoes) {
  const auto [family, enable_checkpointing] = GetParam();
  const Qwen3Config model = tiny_qwen3(family);
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    expect_equal_training({.mesh = {.data_parallel_replicate = ranks},
                           .model = model,
                           .enable_checkpointing = enable_checkpointing,
                           .batch = tiny_batch(model),
                           .microbatches = 4 / ranks});
  }
}

TEST(ParallelWorld, TellsOtherSamplesFromTheSame) {
  const Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  const TensorMap batch = tiny_batch(model);
  const Trained half = train_once({.model = model,
                                   .batch = {{"input_ids", batch.at("input_ids").narrow(0, 0, 4)},
                                             {"labels", batch.at("labels").narrow(0, 0, 4)}}});
  const Trained all = train_once({.model = model, .batch = batch});

  EXPECT_GT(std::abs(half.loss - all.loss), 1e-5 * all.loss);
  EXPECT_GT(std::abs(half.norm - all.norm), 1e-4 * all.norm);
}

}  // namespace
}  // namespace d9d::test
