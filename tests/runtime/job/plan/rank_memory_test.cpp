#include "runtime/job/plan/rank_memory.hpp"

#include <gmock/gmock.h>

#include "kernels/cross_entropy/loss_memory.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

StepForecast forecast_of(const LoadedJob& loaded) {
  const ScheduleConfig& schedule = loaded.job.trainer.pipelining.schedule;
  return forecast_step(loaded.job, schedule, plan_job(loaded, schedule));
}

std::vector<RankMemory> memory_of(const std::vector<std::string>& keys,
                                  std::optional<std::int64_t> sequence_length = 32) {
  const LoadedJob loaded = testing_job::load(keys);
  return estimate_memory(loaded, plan_job(loaded, loaded.job.trainer.pipelining.schedule),
                         forecast_of(loaded), sequence_length);
}

TEST(RankMemory, AForecastCountsWhatEachRankKeepsAtItsPeak) {
  EXPECT_THAT(forecast_of(testing_job::load()).live_microbatches, ElementsAre(2, 1));
  EXPECT_THAT(forecast_of(testing_job::load(
                              {"trainer.pipelining.order=dynamic", "trainer.pipelining.extra_activations=5"}))
                  .live_microbatches,
              ElementsAre(2, 2))
      << "a step has no more than two";
}

TEST(RankMemory, CountsTheBytesOfEachKind) {
  const std::vector<RankMemory> ranks = memory_of({});

  ASSERT_EQ(ranks.size(), 2U);
  const std::int64_t parameters = plan_job(testing_job::load(), OneFOneBSchedule{}).stages[0].parameters * 4;
  EXPECT_EQ(ranks[0].parameters, parameters);
  EXPECT_EQ(ranks[0].gradients, parameters);
  EXPECT_EQ(ranks[0].optimizer, 2 * parameters);
  EXPECT_EQ(ranks[0].state(), 4 * parameters);
  EXPECT_EQ(ranks[0].total(), ranks[0].state() + ranks[0].checkpoint + ranks[0].activations);
  EXPECT_EQ(ranks[1].total(), ranks[1].state() + ranks[1].activations + ranks[1].loss);
  EXPECT_EQ(ranks[0].libraries, 0) << "on a CPU";
}

// Logits of so many need more than a layer's work.
constexpr const char* many_words = "model_provider.model.vocab_size=8192";
constexpr const char* many_ids = "data.vocab_size=8192";

TEST(RankMemory, TheLossIsTheLastStagesAndTheCopyForACheckpointIsOnTheHost) {
  const std::vector<RankMemory> ranks =
      memory_of({"node.device=cuda", "trainer.checkpointing={period_steps: 5}", many_words, many_ids});

  EXPECT_EQ(ranks[0].loss, 0);
  constexpr std::int64_t tokens = 2 * 32;
  const kernels::LossShape shape{
      .tokens = tokens, .hidden_size = 64, .vocabulary = 8192, .rows = 8192, .bytes = 4};
  const kernels::LossBytes of_loss = kernels::loss_bytes(kernels::Place::gpu, shape);
  EXPECT_EQ(ranks[1].loss, of_loss.copy + of_loss.forward);
  EXPECT_GT(ranks[1].loss, 4 * tokens * 8192 + 2 * 4 * tokens * 64)
      << "float32 logits of 8192 ids; two tensors of 64 numbers a token";
  EXPECT_GT(ranks[1].checkpoint, 0);
  EXPECT_EQ(ranks[1].on_device(),
            ranks[1].state() + ranks[1].activations + ranks[1].loss + ranks[1].libraries);
  EXPECT_EQ(ranks[1].libraries, 40 << 20);
}

TEST(RankMemory, TheLossOfEachDeviceIsWhatItsBlocksHold) {
  const std::vector<std::string> words{"model_provider.model.vocab_size=40000", "data.vocab_size=40000",
                                       "data.sequence_length=256", "model_provider.dtype=bfloat16"};
  const auto loss_on = [&](const std::string& device, const std::string& mesh = "mesh.tensor_parallel=1") {
    std::vector<std::string> keys = words;
    keys.push_back("node.device=" + device);
    keys.push_back(mesh);
    return memory_of(keys, 256)[1].loss;
  };

  const std::int64_t cpu = loss_on("cpu"), delayed = loss_on("delayed"), cuda = loss_on("cuda");

  constexpr std::int64_t on_cpu = 104, tokens = 2 * 256;  // at once
  EXPECT_NEAR(static_cast<double>(cpu), on_cpu * (4 * 40000 + 2 * 8192), 0.03 * static_cast<double>(cpu));
  EXPECT_NEAR(static_cast<double>(delayed), on_cpu * (4 + 2) * 40000, 0.03 * static_cast<double>(delayed));
  EXPECT_NEAR(static_cast<double>(cuda), tokens * (4 + 2) * 40000, 0.03 * static_cast<double>(cuda));
  const std::int64_t half = loss_on("cpu", "mesh.tensor_parallel=2");
  EXPECT_NEAR(static_cast<double>(half), on_cpu * (4 * 20000 + 2 * 8192), 0.03 * static_cast<double>(half));
}

// Of all tokens at once, not of a block: they go through tanh (head.hpp).
TEST(RankMemory, CappedLogitsAreCountedWhole) {
  const auto of_last = [](double cap) {
    LoadedJob loaded = testing_job::load({many_words, many_ids});
    const auto model = std::make_shared<Qwen3Config>(testing_job::qwen3_of(loaded));
    model->logit_softcap = cap;
    loaded.model = model;
    const JobPlan plan = plan_job(loaded, loaded.job.trainer.pipelining.schedule);
    return estimate_memory(loaded, plan, forecast_of(loaded), 32)[1];
  };
  const RankMemory capped = of_last(30), plain = of_last(0);

  constexpr std::int64_t logits = 2 * 32 * 8192;
  EXPECT_EQ(capped.loss, 8 * logits);
  EXPECT_GT(capped.activations, 8 * logits);
  EXPECT_LT(plain.loss, 5 * logits);
}

TEST(RankMemory, LogitsWithAnAdapterAreCountedWhole) {
  const auto of_last = [](const char* module) {
    return memory_of({many_words, many_ids,
                      std::string("model_provider.peft={kind: lora, module_name_pattern: ") + module +
                          ", params: {r: 4, alpha: 8}}"})[1];
  };
  const RankMemory adapted = of_last("lm_head"), plain = of_last("'.*q_proj'");

  constexpr std::int64_t logits = 2 * 32 * 8192;
  EXPECT_EQ(adapted.loss, 8 * logits);
  EXPECT_GT(adapted.activations, 4 * logits);
  EXPECT_LT(plain.loss, 5 * logits);
}

TEST(RankMemory, TheGradientOfLogitsInBfloat16IsBesideThem) {
  const std::int64_t wide = memory_of({"node.device=cuda", many_words, many_ids})[1].loss;
  const std::int64_t half =
      memory_of({"node.device=cuda", "model_provider.dtype=bfloat16", many_words, many_ids})[1].loss;

  constexpr std::int64_t tokens = 2 * 32;
  EXPECT_EQ(half - wide, 2 * tokens * 8192);
}

TEST(RankMemory, WithoutALengthOfSamplesOnlyStateIsKnown) {
  const RankMemory rank = memory_of({"node.device=cuda"}, std::nullopt)[1];

  EXPECT_GT(rank.state(), 0);
  EXPECT_EQ(rank.activations, 0);
  EXPECT_EQ(rank.loss, 0);
}

TEST(RankMemory, GradientsOfNarrowParametersAreWide) {
  EXPECT_EQ(dtype_of_gradients(testing_job::load({"model_provider.dtype=bfloat16"}).job), Dtype::float32);
  EXPECT_EQ(dtype_of_gradients(testing_job::load({"model_provider.dtype=bfloat16",
                                                  "trainer.gradient_manager={grad_dtype: bfloat16}"})
                                   .job),
            Dtype::bfloat16);
}

// Rows of two choices of a token, the router's numbers; hidden states and gradients that come and go.
TEST(RankMemory, ARankWithoutTheLossCountsALayersWork) {
  const LoadedJob loaded = testing_job::load();
  constexpr std::int64_t tokens = 2 * 32;
  constexpr std::int64_t of_choices = 64 + 2 * (2 * 64 + 3 * 32), beside = 4 * 8 + 32 * 2;
  constexpr std::int64_t work = tokens * (4 * of_choices + beside);

  EXPECT_EQ(memory_of({})[0].activations, 2 * activation_bytes(*loaded.model, {0, 2}, tokens, 4, false) +
                                              work + 2 * tokens * 64 * 4 + 2 * tokens * 3 * 8 +
                                              tokens * 2 * 16 * 4)
      << "and ids, labels and places of two microbatches, cosines and sines";
  EXPECT_EQ(
      memory_of({"node.device=cuda", "model_provider.model.vocab_size=64", "data.vocab_size=64"})[1].loss,
      work)
      << "logits of so few ids need less";
}

// Keys and values of 4 layers with 2 heads of 16 each, in float32.
TEST(RankMemory, CachesOfTextsTakeThePlaceOfActivations) {
  const LoadedJob loaded = testing_job::load({"mesh.pipeline_parallel=1"});
  const JobPlan plan = plan_job(loaded, OneFOneBSchedule{});
  const auto with = [&](const WrittenTexts& texts) {
    return estimate_memory(loaded, plan, forecast_of(loaded), 32, {texts})[0];
  };
  const WrittenTexts few{.texts = 1, .in_a_pass = 1, .prompt_tokens = 1, .new_tokens = 1};
  const WrittenTexts many{.texts = 100, .in_a_pass = 1, .prompt_tokens = 1, .new_tokens = 99};

  constexpr std::int64_t of_token = 4 * 2 * (2 * 16) * 4;
  EXPECT_EQ(with(many).texts - with(few).texts, (100 * 100 - 2) * of_token);
  EXPECT_EQ(with(few).total(), with(few).state() + with(few).activations + with(few).loss);
  EXPECT_EQ(with(many).total(), with(many).state() + with(many).texts);
  EXPECT_EQ(memory_of({})[0].texts, 0);
}

TEST(RankMemory, TheSecondStreamCountsWhatItsStagesHaveAtTheirOwnPeak) {
  const std::vector<std::string> in_a_v{"trainer.pipelining.schedule=dual_pipe_v", "node.device=delayed",
                                        "trainer.batching.global_batch_size=16"};
  std::vector<std::string> always = in_a_v;
  always.push_back("trainer.pipelining.overlap=always");
  const StepForecast forecast = forecast_of(testing_job::load(always));

  ASSERT_THAT(forecast.live_by_stream, ::testing::SizeIs(2));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const RankMemory one = memory_of(in_a_v)[rank], both = memory_of(always)[rank];
    const auto [first, second] = forecast.live_by_stream[rank];
    EXPECT_GE(first + second, forecast.live_microbatches[rank]);
    EXPECT_LE(std::max(first, second), forecast.live_microbatches[rank]);
    EXPECT_EQ(one.second_stream, 0);
    EXPECT_LE(both.second_stream, both.activations) << "at most once more";
    EXPECT_EQ(both.total(), one.total() + both.second_stream);
  }
  EXPECT_TRUE(forecast_of(testing_job::load(in_a_v)).live_by_stream.empty());
}

}  // namespace
}  // namespace d9d
