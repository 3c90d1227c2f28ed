// Ranks that share sequences train as one rank does, whichever way attention reaches the rest.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/family/model_key.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/parameter_text.hpp"

namespace d9d::test {
namespace {

struct Choice {
  ContextAttention attention;
  TokenOrder order;
};
constexpr Choice ring_zigzag{ContextAttention::ring, TokenOrder::zigzag};
constexpr Choice ulysses_zigzag{ContextAttention::ulysses, TokenOrder::zigzag};

ParallelCase shared_sequences(const DeviceMeshParameters& mesh, const Choice& choice, Qwen3Kind family) {
  const Qwen3Config model = tiny_qwen3(family);
  return {.mesh = mesh,
          .model = model,
          .options = {.context = {choice.attention, choice.order}},
          .batch = tiny_batch(model)};
}

class ContextParallel
    : public testing::TestWithParam<std::tuple<ContextAttention, TokenOrder, Qwen3Kind, bool>> {};
INSTANTIATE_TEST_SUITE_P(AttentionOrderFamilyCheckpointing, ContextParallel,
                         testing::Combine(testing::Values(ContextAttention::ring, ContextAttention::ulysses),
                                          testing::Values(TokenOrder::zigzag, TokenOrder::contiguous),
                                          testing::Values(Qwen3Kind::dense, Qwen3Kind::moe),
                                          testing::Bool()));

TEST_P(ContextParallel, TrainsAsOneRankDoes) {
  const auto [attention, order, family, enable_checkpointing] = GetParam();
  for (const int ranks : {2, 4}) {
    SCOPED_TRACE(ranks);
    ParallelCase given = shared_sequences({.context_parallel_shard = ranks}, {attention, order}, family);
    given.enable_checkpointing = enable_checkpointing;
    given.microbatches = 2;
    expect_equal_training(given);
  }
}

TEST(ContextParallelMesh, ReplicateAndShardTogetherShareASequence) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    expect_equal_training(shared_sequences({.context_parallel_replicate = 2, .context_parallel_shard = 2},
                                           choice, Qwen3Kind::dense));
  }
}

TEST(ContextParallelMesh, DataReplicasShareNothingButGradients) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
      expect_equal_training(
          shared_sequences({.data_parallel_replicate = 2, .context_parallel_shard = 2}, choice, family));
    }
  }
}

TEST(ContextParallelMesh, ExpertsAndHeadsAreSharedBesideSequences) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    expect_equal_training(
        shared_sequences({.context_parallel_shard = 2, .tensor_parallel = 2}, choice, Qwen3Kind::dense));
    expect_equal_training(shared_sequences(
        {.context_parallel_shard = 2, .tensor_parallel = 2, .expert_parallel = 4}, choice, Qwen3Kind::moe));
  }
}

TEST(ContextParallelMesh, ARankWithoutLabelsThatCountTakesPart) {
  ParallelCase given = shared_sequences({.context_parallel_shard = 2},
                                        {ContextAttention::ring, TokenOrder::contiguous}, Qwen3Kind::dense);
  given.batch.at("labels").narrow(1, 0, 8).fill_(-100);

  expect_equal_training(given);
}

TEST(ContextParallelMesh, PositionsOfTheBatchFollowTheSplit) {
  ParallelCase given = shared_sequences({.context_parallel_shard = 2}, ring_zigzag, Qwen3Kind::dense);
  const at::Tensor& ids = given.batch.at("input_ids");
  // Another first position in every sample.
  given.batch["position_ids"] =
      (at::arange(ids.size(1), at::kLong) + at::arange(ids.size(0), at::kLong).unsqueeze(1));

  expect_equal_training(given);
}

TEST(ContextParallelMesh, OddHeadSizesAndOneKeyHeadWork) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    ParallelCase given = shared_sequences({.context_parallel_shard = 4}, choice, Qwen3Kind::dense);
    given.model.head_dim = 10;
    given.model.num_key_value_heads = 1;
    given.batch = tiny_batch(given.model, 2, 24);
    expect_equal_training(given);
  }
}

TEST(ContextParallelMesh, WindowsThatDifferByLayerReachOverRanks) {
  for (const TokenOrder order : {TokenOrder::zigzag, TokenOrder::contiguous}) {
    for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
      for (const std::int64_t width : {2, 5, 11}) {
        SCOPED_TRACE(width);
        ParallelCase given =
            shared_sequences({.context_parallel_shard = 4}, {attention, order}, Qwen3Kind::dense);
        given.model.windows = {width, {false, true}};
        expect_equal_training(given);
      }
    }
  }
}

// Documents that end within chunks, at their ends, and reach over several ranks.
void expect_packed_documents(bool causal) {
  for (const TokenOrder order : {TokenOrder::zigzag, TokenOrder::contiguous}) {
    for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
      for (const std::int64_t width : {0, 3}) {
        SCOPED_TRACE(width);
        ParallelCase given =
            shared_sequences({.context_parallel_shard = 4}, {attention, order}, Qwen3Kind::dense);
        if (width > 0) given.model.windows = {width, {false, true}};
        given.model.causal = causal;
        const at::Tensor starts = at::zeros({8, 16}, at::kLong);
        for (std::int64_t sample = 0; sample < 7; ++sample) {
          starts[sample].narrow(0, 2 * sample + 1, 15 - 2 * sample).fill_(2 * sample + 1);
          starts[sample].narrow(0, 14, 2).fill_(14);
        }
        given.batch["document_starts"] = starts;
        given.batch["position_ids"] = at::arange(16, at::kLong) - starts;
        given.enable_checkpointing = width > 0;
        expect_equal_training(given);
      }
    }
  }
}

TEST(ContextParallelMesh, PackedDocumentsReachOverRanks) {
  expect_packed_documents(/*causal=*/true);
}

TEST(ContextParallelMesh, Mod10PackedDocumentsSeeThemselvesInBothDirectionsOverRanks) {
  expect_packed_documents(/*causal=*/false);
}

TEST(ContextParallelMesh, Mod10WindowsReachToBothSidesOverRanks) {
  for (const TokenOrder order : {TokenOrder::zigzag, TokenOrder::contiguous}) {
    for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
      for (const std::int64_t width : {1, 3, 6, 15}) {
        SCOPED_TRACE(width);
        ParallelCase given =
            shared_sequences({.context_parallel_shard = 4}, {attention, order}, Qwen3Kind::dense);
        given.model.windows = {width, {false, true}};
        given.model.causal = false;
        expect_equal_training(given);
      }
    }
  }
}

TEST(ContextParallelMesh, Mod10EveryMeshOfTwoRanksTrainsBothWaysAsOneRankDoes) {
  for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
    for (const DeviceMeshParameters& mesh :
         meshes_of(2, {.pipeline = 2, .tensor = 2, .experts = family == Qwen3Kind::moe ? 2 : 0})) {
      SCOPED_TRACE(text_of(mesh));
      ParallelCase given = shared_sequences(mesh, ring_zigzag, family);
      given.model.causal = false;
      given.model.windows = {5, {false, true}};
      expect_equal_training(given);
    }
  }
}

struct WithSinks final : DenseDecoder {
  WithSinks() : DenseDecoder(tiny_qwen3(Qwen3Kind::dense)) { windows = {5, {false, true}}; }
  AttentionOptions attention() const override {
    AttentionOptions options = DenseDecoder::attention();
    options.sinks = true;
    return options;
  }
  const ModelKeys& keys() const override {
    static const ModelKeys none;
    return none;
  }
};

TEST(ContextParallelMesh, Mod32EveryMeshOfTwoRanksTrainsSinksAsOneRankDoes) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    for (const DeviceMeshParameters& mesh : meshes_of(2, {.pipeline = 2, .tensor = 2})) {
      SCOPED_TRACE(text_of(mesh));
      ParallelCase given = shared_sequences(mesh, choice, Qwen3Kind::dense);
      given.other = std::make_shared<WithSinks>();
      expect_equal_training(given);
    }
  }
}

// Packed documents that see themselves in both directions.
TEST(ContextParallelMesh, Mod10Mod32DelayedDevicesGiveTheBitsOfTheCpu) {
  for (const Choice& choice : {ring_zigzag, ulysses_zigzag}) {
    ParallelCase given = shared_sequences({.context_parallel_shard = 2}, choice, Qwen3Kind::dense);
    const auto model = std::make_shared<WithSinks>();
    model->causal = false;
    given.other = model;
    const at::Tensor starts = at::zeros({8, 16}, at::kLong);
    starts.narrow(1, 5, 11).fill_(5);
    given.batch["document_starts"] = starts;
    given.batch["position_ids"] = at::arange(16, at::kLong) - starts;
    const Trained expected = train_once(given);
    given.delayed = true;

    expect_same_bits(train_once(given), expected);
  }
}

TEST(ContextParallelMesh, UlyssesSendsKeyHeadsThatRanksDoNotDivideMoreThanOnce) {
  ParallelCase given = shared_sequences({.context_parallel_shard = 2}, ulysses_zigzag, Qwen3Kind::dense);
  given.model.num_attention_heads = 6;
  given.model.num_key_value_heads = 3;
  given.batch = tiny_batch(given.model, 2);

  expect_equal_training(given);
}

TEST(ContextParallelMesh, UlyssesRefusesHeadsItCannotShare) {
  ParallelCase given = shared_sequences({.context_parallel_shard = 4}, ulysses_zigzag, Qwen3Kind::dense);
  given.model.num_attention_heads = given.model.num_key_value_heads = 2;

  EXPECT_THROW(train_once(given), Error);
}

}  // namespace
}  // namespace d9d::test
