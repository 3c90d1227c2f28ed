#include "runtime/job/plan/flat_gaps.hpp"

#include <gtest/gtest.h>

#include "runtime/family/family_model.hpp"
#include "runtime/job/plan/flat_options.hpp"
#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

// Widths that are multiples of nothing. Its parameters, in their order, and where they begin in a buffer whose
// parameters begin at multiples of 8 but where two matrices have as many columns:
//   embed_tokens [7, 5] 0;  input_layernorm [5] 40;  q, k, v [2, 5] 48, 58, 68;  o [5, 2] 80;  q_norm [2] 96;
//   k_norm [2] 104;  post_attention_layernorm [5] 112;  gate, up [3, 5] 120, 135;  down [5, 3] 152;  norm [5] 168;
//   lm_head [7, 5] 176, to 211.
constexpr std::int64_t elements = 35 + 5 + 30 + 10 + 2 + 2 + 5 + 30 + 15 + 5 + 35, with_gaps = 211;
const std::string odd = R"(trainer:
  run: {name: tiny}
  batching: {global_batch_size: 8, microbatch_size: 2}
  schedule: {total_steps: 20}
model_provider:
  name: qwen3
  model:
    hidden_size: 5
    num_hidden_layers: 1
    num_attention_heads: 1
    num_key_value_heads: 1
    head_dim: 2
    intermediate_size: 3
    vocab_size: 7
    tie_word_embeddings: false
data: {source: synthetic, sequence_length: 32, vocab_size: 7}
optimizer: {name: adamw, lr: 3.0e-4}
)";

FlatGaps gaps_with(const std::vector<std::string>& keys) {
  return flat_gaps(testing_job::load(keys, odd), {StagePosition{}});
}

RankMemory memory_with(const std::vector<std::string>& keys) {
  const LoadedJob loaded = testing_job::load(keys, odd);
  const ScheduleConfig& schedule = loaded.job.trainer.pipelining.schedule;
  const JobPlan plan = plan_job(loaded, schedule);
  return estimate_memory(loaded, plan, forecast_step(loaded.job, schedule, plan), std::nullopt).at(0);
}

TEST(FlatGaps, AreThoseBetweenParametersOfOddLength) {
  const FlatGaps gaps = gaps_with({});

  EXPECT_EQ(gaps.trainable, with_gaps - elements);
  EXPECT_EQ(gaps.frozen, 0);
  EXPECT_EQ(gaps.values.of_all, 0) << "nothing is gathered";
  const RankMemory memory = memory_with({});
  EXPECT_EQ(memory.parameters, 4 * with_gaps);
  EXPECT_EQ(memory.gradients, 4 * with_gaps);
  EXPECT_EQ(memory.optimizer, 8 * with_gaps);
}

// And what a job takes for its buffers.
TEST(FlatGaps, AreWhatFlatParametersHave) {
  const LoadedJob loaded = testing_job::load({}, odd);
  const auto stage = loaded.model->build_stage({}, {});

  const FlatParameters flat(stage->parameters(), flat_options(loaded.job.trainer.gradient_manager));

  std::int64_t taken = 0;
  for (const FlatFamily& family : flat.families()) taken += family.data.numel();
  EXPECT_EQ(taken, with_gaps);
  EXPECT_EQ(taken - flat.num_elements(), gaps_with({}).trainable);
}

// Factors of 3 rows beside a frozen q of [2, 5]: A [3, 5] and B [2, 3], from 0 and 16 to 22.
TEST(FlatGaps, OfAdaptersAreThoseOfWhatTrains) {
  const std::string lora =
      "model_provider.peft={kind: lora, module_name_pattern: '.*q_proj', params: {r: 3, alpha: 8}}";
  const LoadedJob loaded = testing_job::load({lora}, odd);
  const auto stage = loaded.model->build_stage({}, {});
  adapt(loaded.job, *loaded.model, *stage);

  const FlatParameters flat(stage->parameters(), flat_options(loaded.job.trainer.gradient_manager));

  EXPECT_EQ(flat.families().at(0).data.numel(), 22);
  EXPECT_EQ(gaps_with({lora}).trainable, 22 - (15 + 6));
  EXPECT_EQ(gaps_with({lora}).frozen, 13 + 11 + 3 * 6 + 6 + 2 * 14 + 11 + 2 * 1 + 1 + 11 + 13);
}

// In an inference job each parameter begins at 64 bytes, 16 elements of fp32: 13 + 11 + 3 * 6 + 6 + 2 * 14 + 11 + 2 * 1
// + 1 + 11 + 13.
TEST(FlatGaps, OfFrozenParametersReachToTheNextOne) {
  const LoadedJob loaded = testing_job::load({}, odd);
  LoadedJob frozen = loaded;
  frozen.job.inference.emplace();

  const FlatGaps gaps = flat_gaps(frozen, {StagePosition{}});

  EXPECT_EQ(gaps.frozen, 13 + 11 + 3 * 6 + 6 + 2 * 14 + 11 + 2 * 1 + 1 + 11 + 13);
  EXPECT_EQ(gaps.trainable, 0);
}

// A rank's shards are [4, 5] of the embedding; 3, 3 * [1, 5], [3, 2], 1, 1, 3, 2 * [2, 5], [3, 3] of the layer; 3,
// [4, 5] of the head. They lie behind each other, units from multiples of 16: 0 to 20, 32 to 90, 96 to 119. Whole units
// have gaps of 0; 3 + 2 + 6 + 6 + 6 + 3 + 2; 3.
TEST(FlatGaps, OfShardsAreBetweenUnitsAndOfWholeUnitsWithinThem) {
  const FlatGaps gaps = gaps_with({"mesh={data_parallel_shard: 2}"});

  EXPECT_EQ(gaps.trainable, 119 - (20 + 58 + 23));
  EXPECT_EQ(gaps.values.of_all, 28 + 3);
  EXPECT_EQ(gaps.values.of_two, 28 + 3);
  EXPECT_EQ(gaps.gradients.of_all, 28 + 3);
  EXPECT_EQ(gaps.frozen, 0);
}

// What tensor parallelism cuts lies in a buffer of its own.
TEST(FlatGaps, OfASplitModelAreThoseOfItsFirstRank) {
  const LoadedJob loaded = testing_job::load(
      {"mesh={tensor_parallel: 2}", "model_provider.model.vocab_size=8",
       "model_provider.model.num_attention_heads=2", "model_provider.model.num_key_value_heads=2",
       "model_provider.model.intermediate_size=4", "data.vocab_size=8"},
      odd);

  const FlatGaps gaps = flat_gaps(loaded, {StagePosition{}});

  // Cut: embed [4, 5] 0; q, k, v [2, 5] 20, 30, 40 (as many columns); o [5, 2] 56; gate, up [2, 5] 72, 82; down [5, 2]
  // 96; lm_head [4, 5] 112, to 132. Whole: norms 5 at 0, 2 at 8, 2 at 16, 5 at 24, 5 at 32, to 37.
  constexpr std::int64_t cut = 132 - (20 + 30 + 10 + 20 + 10 + 20), whole = 37 - 19;
  EXPECT_EQ(gaps.trainable, cut + whole);
}

}  // namespace
}  // namespace d9d
