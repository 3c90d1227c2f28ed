// Steps of a rank, from a source to what its stages are given.
#include "runtime/rank/feed/source_feed.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/data/source/stream_source.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/task/task.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::int64_t>;

// Sample i is [i, i, i, i].
class CountingSource final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 4; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t index) const override {
    const std::vector<std::int64_t> row(4, static_cast<std::int64_t>(index));
    return {row, row};
  }
};

// Hands the batch through and counts its tokens in odd steps; throws at step 3.
class PassingTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override {
    thread = std::this_thread::get_id();
    if (counts && context.step % 2 == 1)
      context.metrics->get<Accumulator>("tokens").update(
          static_cast<double>(context.batch.at("input_ids").numel()));
    if (context.step == 3) throw std::out_of_range("no such column");
    return {.inputs = context.batch, .shared = {}, .state = {}};
  }
  Loss compute_loss(const LossContext& /*context*/) const override { return {}; }
  void create_metrics(Compose& metrics) const override {
    metrics.add("tokens", std::make_unique<Accumulator>(ReduceOp::sum));
  }
  bool counts = false;
  mutable std::thread::id thread;
};

class SourceFeedTest : public ::testing::Test {
 protected:
  SourceFeedTest() {
    options.source = std::make_shared<CountingSource>();
    options.maths = batch_maths(8, 2, 2);
    options.task = task;
    options.table = &table;
  }
  // The first token of every sample of a step.
  Rows rows(const StepInputs& inputs) {
    Rows rows;
    for (const Ticket ticket : inputs.microbatches) {
      const at::Tensor ids = table.take_as<MicrobatchParcel>(ticket)->tensors.inputs.at("input_ids");
      for (std::int64_t b = 0; b < ids.size(0); ++b) rows.push_back(ids[b][0].item<std::int64_t>());
    }
    return rows;
  }

  TensorTable table{16};
  std::shared_ptr<PassingTask> task = std::make_shared<PassingTask>();
  SourceFeedOptions options;
};

TEST_F(SourceFeedTest, CountsTheModelsOperationsAtTheLengthOfTheWholeSequences) {
  options.flops_per_token = [](std::int64_t length) { return 100.0 * static_cast<double>(length); };

  EXPECT_EQ(make_source_feed(options)->load(1)->flops, 16 * 400);
  options.place = {.rank = 0, .ranks = 2};
  EXPECT_EQ(make_source_feed(options)->load(1)->flops, 8 * 400);
}

// Samples of as many tokens as their number, and one.
class FilledSource final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return 4; }
  std::int64_t sequence_length() const override { return 4; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t index) const override {
    Sample sample{{1, 2, 3, 4}, {2, 3, 4, 5}};
    for (std::uint64_t i = 0; i < 4; ++i) sample.token_mask.push_back(i <= index % 4);
    return sample;
  }
};

TEST_F(SourceFeedTest, CountsNothingThatFillsRowsUp) {
  options.source = std::make_shared<FilledSource>();
  options.maths = batch_maths(4, 4, 1);
  options.flops_per_token = [](std::int64_t length) { return 100.0 * static_cast<double>(length); };
  const auto load = [&] { return *make_source_feed(options)->load(1); };

  const StepInputs inputs = load();
  EXPECT_EQ(inputs.tokens, 1U + 2 + 3 + 4);
  EXPECT_EQ(inputs.flops, 100 * (1 + 4 + 9 + 16)) << "each row as if it stood alone";
  EXPECT_TRUE(
      table.take_as<MicrobatchParcel>(inputs.microbatches.front())->tensors.shared.contains("token_mask"))
      << "the task hands on nothing of it";
  options.place = {.rank = 1, .ranks = 2, .order = TokenOrder::contiguous};
  const StepInputs behind = load();
  EXPECT_EQ(behind.tokens, 0U + 0 + 1 + 2);
  EXPECT_EQ(behind.flops, 100 * (3 + 2 * 4));
}

TEST_F(SourceFeedTest, TheLastStepOfAnEvaluationHasWhatIsLeft) {
  options.maths = batch_maths(8, 2, 2);
  options.end_sample = 11;
  options.cycle_steps = 2;
  options.shortens_last = true;
  const auto load = [&](int data_rank) {
    options.data_rank = data_rank;
    return *make_source_feed(options)->load(2);
  };

  const StepInputs first = load(0);
  EXPECT_EQ(first.tokens, 3U * 4);
  EXPECT_EQ(rows(first), (Rows{8, 9, 10}));
  const StepInputs filler = load(1);
  EXPECT_EQ(filler.tokens, 0U);
  for (const Ticket ticket : filler.microbatches)
    EXPECT_TRUE(table.take_as<MicrobatchParcel>(ticket)->tensors.state.contains(filler_microbatch));
}

TEST_F(SourceFeedTest, TheLastStepOfTrainingMayBeFilledUpWithRowsThatCountNowhere) {
  options.end_sample = 11;
  EXPECT_FALSE(make_source_feed(options)->load(2));
  options.fills_last = true;
  const auto feed = make_source_feed(options);

  const auto whole = feed->load(1), last = feed->load(2);
  EXPECT_FALSE(feed->load(3));

  EXPECT_FALSE(
      table.take_as<MicrobatchParcel>(whole->microbatches[0])->tensors.inputs.contains("token_mask"));
  EXPECT_EQ(last->next_sample, 11U);
  EXPECT_EQ(last->tokens, 3U * 4);
  const auto second = table.take_as<MicrobatchParcel>(last->microbatches[1]);
  const TensorMap& inputs = second->tensors.inputs;
  EXPECT_EQ(inputs.at("input_ids").sizes(), at::IntArrayRef({2, 4}));
  EXPECT_EQ(inputs.at("labels")[0].sum().item<std::int64_t>(), 4 * 10);
  EXPECT_EQ(inputs.at("labels")[1].sum().item<std::int64_t>(), 4 * ignored_label);
  EXPECT_EQ(inputs.at("token_mask").sum().item<std::int64_t>(), 4);
  options.data_rank = 1;
  const auto filling = make_source_feed(options)->load(2);
  EXPECT_EQ(filling->tokens, 0U);
  EXPECT_EQ(rows(*filling), (Rows{10, 10, 10, 10}));
}

TEST_F(SourceFeedTest, TheLastStepOfAnInferenceCountsNoRowThatFillsItUp) {
  options.end_sample = 11;
  options.numbers_samples = true;

  EXPECT_EQ(make_source_feed(options)->load(2)->tokens, 3U * 4);
}

TEST_F(SourceFeedTest, WhatTheTaskCountsGoesWithItsMicrobatchOnOneOfTheRanks) {
  task->counts = true;
  options.declare_metrics = [task = task](Compose& metrics) { task->create_metrics(metrics); };
  for (const bool counts : {true, false}) {
    options.counts = counts;
    const auto feed = make_source_feed(options);
    for (const std::uint64_t step : {1, 2}) {
      const auto inputs = feed->load(step);
      for (const Ticket ticket : inputs->microbatches) {
        const auto expected = counts && step == 1 ? std::vector<double>{8} : std::vector<double>{};
        EXPECT_EQ(table.take_as<MicrobatchParcel>(ticket)->counted, expected) << "step " << step;
      }
    }
  }
}

TEST_F(SourceFeedTest, MakesTheInputsOfAStepOnTheThreadThatAsks) {
  options.data_rank = 1;
  const auto feed = make_source_feed(options);

  const auto inputs = feed->load(2);

  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->tokens, 16U);
  EXPECT_EQ(inputs->next_sample, 16U);
  EXPECT_EQ(rows(*inputs), (Rows{12, 13, 14, 15}));
  EXPECT_EQ(task->thread, std::this_thread::get_id());
}

// LOOP-94: each data replica reads its part, in microbatches, and goes on where the checkpoint was.
TEST_F(SourceFeedTest, GoesOnAtTheSampleOfTheCheckpoint) {
  options.first_step = 11;
  options.first_sample = 100;
  const auto feed = make_source_feed(options);

  EXPECT_EQ(rows(*feed->load(11)), (Rows{100, 101, 102, 103}));
  EXPECT_EQ(rows(*feed->load(12)), (Rows{108, 109, 110, 111}));
}

// Sample i holds two documents.
class PackedSource final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 4; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t /*index*/) const override { return {{1, 2, 3, 4}, {2, 3, 4, 5}, {0, 0, 2, 2}}; }
};

class ForgetfulTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override {
    return {.inputs = {{"input_ids", context.batch.at("input_ids")}}, .shared = {}, .state = {}};
  }
  Loss compute_loss(const LossContext& /*context*/) const override { return {}; }
};

TEST_F(SourceFeedTest, RefusesATaskThatForgetsWhereDocumentsBegin) {
  options.source = std::make_shared<PackedSource>();
  EXPECT_TRUE(make_source_feed(options)->load(1));
  options.task = std::make_shared<ForgetfulTask>();

  EXPECT_THAT(test::error_of([&] { make_source_feed(options)->load(1); }, ErrorKind::input),
              HasSubstr("the task does not hand on where they begin"));
}

TEST_F(SourceFeedTest, IsTheSameWithThreadsThatReadAhead) {
  options.end_sample = 13;
  options.fills_last = true;
  const auto all_steps = [&] {
    const auto feed = make_source_feed(options);
    std::vector<Rows> steps;
    for (std::uint64_t step = 1; const auto inputs = feed->load(step); ++step) steps.push_back(rows(*inputs));
    return steps;
  };

  const std::vector<Rows> alone = all_steps();
  options.readers = 3;
  const std::vector<Rows> together = all_steps();

  EXPECT_EQ(alone, (std::vector<Rows>{{0, 1, 2, 3}, {8, 9, 10, 11}}));
  EXPECT_EQ(together, alone);
  options.data_rank = 1;
  EXPECT_EQ(all_steps(), (std::vector<Rows>{{4, 5, 6, 7}, {12, 12, 12, 12}}));
}

TEST_F(SourceFeedTest, GivesNoStepThatReachesBeyondTheEnd) {
  options.end_sample = 17;
  const auto feed = make_source_feed(options);

  EXPECT_TRUE(feed->load(2));
  EXPECT_FALSE(feed->load(3));
}

TEST_F(SourceFeedTest, BeginsAnewAfterEachCycle) {
  options.cycle_steps = 2;
  const auto feed = make_source_feed(options);

  const Rows first = rows(*feed->load(1));
  const Rows second = rows(*feed->load(2));

  EXPECT_NE(first, second);
  EXPECT_EQ(rows(*feed->load(4)), second);
  EXPECT_EQ(rows(*feed->load(5)), first);
}

TEST_F(SourceFeedTest, AnExceptionOfTheTaskSaysWhereAndIsNoBug) {
  const auto feed = make_source_feed(options);

  EXPECT_THAT(test::error_of([&] { feed->load(3); }, ErrorKind::environment),
              HasSubstr("the task's build_forward_inputs of step 3, microbatch 0, threw: no such column"));
}

TEST_F(SourceFeedTest, ContextParallelRanksCountTheirOwnTokens) {
  options.place = {.rank = 1, .ranks = 2, .order = TokenOrder::zigzag};
  const auto feed = make_source_feed(options);

  EXPECT_EQ(feed->load(1)->tokens, 8U);
}

// Only the end of the whole sequence has no token behind it.
TEST_F(SourceFeedTest, KnowsTheTokensBehindTheCutOfASharedSequence) {
  options.prediction_depths = 1;
  const auto next_labels = [&](int rank) {
    options.place = {.rank = rank, .ranks = 2, .order = TokenOrder::contiguous};
    const auto inputs = make_source_feed(options)->load(2);
    const at::Tensor labels =
        table.take_as<MicrobatchParcel>(inputs->microbatches.front())->tensors.inputs.at("next_labels");
    return Rows{labels[0][0][0].item<std::int64_t>(), labels[0][1][0].item<std::int64_t>()};
  };

  EXPECT_EQ(next_labels(0), (Rows{8, 8}));
  EXPECT_EQ(next_labels(1), (Rows{8, ignored_label}));
}

// The step's samples in halves: the first for both phases of batch 0, the second for that of batch 1.
TEST_F(SourceFeedTest, MakesEachPhaseTheInputsOfItsPartOfTheStep) {
  options.maths = batch_maths(4, 1, 2);
  options.phases =
      StepPhases({{"look", PhaseKind::forward, 0}, {"a", PhaseKind::train, 1}, {"b", PhaseKind::train, 0}});
  options.data_rank = 1;
  const auto feed = make_source_feed(options);

  const auto inputs = feed->load(2);

  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->next_sample, 16U);
  EXPECT_EQ(inputs->tokens, 16U) << "those of a batch once";
  EXPECT_EQ(rows(*inputs), (Rows{10, 11, 14, 15, 10, 11}));
}

// Replica r gives samples of the token r * 100, then r * 100 + 1 ..., and ends after so many.
class Counter final : public SampleStream {
 public:
  explicit Counter(std::int64_t count) : left_(count) {}
  std::int64_t sequence_length() const override { return 4; }
  void begin(const StreamPlace& place) override { next_ = place.replica * 100; }
  std::optional<Sample> next() override {
    if (left_-- == 0) return std::nullopt;
    const Rows row(4, next_++);
    return Sample{row, row};
  }
  nlohmann::json state() const override { return next_; }
  void load_state(const nlohmann::json& state) override { next_ = state; }

 private:
  std::int64_t next_ = 0, left_;
};

TEST_F(SourceFeedTest, ReadsAStreamAndSaysWhereItIsAndThatItEnds) {
  options.source = std::make_shared<StreamSource>([] { return std::make_shared<Counter>(9); });
  options.data_rank = 1;
  const auto feed = make_source_feed(options);

  const auto first = feed->load(1), second = feed->load(2);

  EXPECT_EQ(rows(*first), (Rows{100, 101, 102, 103}));
  EXPECT_EQ(first->stream_state, R"({"replica":1,"state":104})");
  EXPECT_FALSE(first->is_last);
  EXPECT_EQ(rows(*second), (Rows{104, 105, 106, 107}));
  EXPECT_TRUE(second->is_last);
  EXPECT_FALSE(feed->load(3)) << "one sample is no step";
}

// A sample is its text, which has the length of a row.
class Echoes final : public RolloutStream {
 public:
  std::int64_t sequence_length() const override { return 4; }
  void begin(const StreamPlace& /*place*/) override {}
  RolloutOptions options() const override {
    return {.max_new_tokens = 4, .ends = {9}, .temperature = 0.5, .top_p = 0.75, .lag = 1};
  }
  std::vector<Rows> prompts(const RolloutStep& step) override {
    return std::vector<Rows>(static_cast<std::size_t>(step.samples),
                             Rows{static_cast<std::int64_t>(step.first)});
  }
  std::vector<Sample> samples(const RolloutStep& /*step*/, std::span<const Rollout> texts) override {
    std::vector<Sample> all;
    for (const Rollout& text : texts) all.push_back({text.text, text.text});
    return all;
  }
  nlohmann::json state() const override { return "kept"; }
  void load_state(const nlohmann::json& /*state*/) override {}
};

TEST_F(SourceFeedTest, MakesStepsOfWhatTheModelWrote) {
  options.source = std::make_shared<RolloutSource>([] { return std::make_shared<Echoes>(); });
  options.data_rank = 1;
  options.first_step = 3 + 4;  // the task throws at step 3
  options.first_sample = 100;
  options.text_seed = 17;
  const auto feed = make_source_feed(options);
  RolloutNeeds& needs = *feed->rollouts();
  const auto samples = static_cast<std::uint64_t>(options.maths.samples_per_rank());

  EXPECT_EQ(needs.lag(), 1U);
  EXPECT_EQ(needs.asked(), 6U);
  const TextRequest first = needs.ask(), second = needs.ask();
  EXPECT_EQ(first.first, 100 + samples);
  EXPECT_EQ(second.first, first.first + samples * static_cast<std::uint64_t>(options.maths.num_data_ranks));
  EXPECT_EQ(first.prompts, std::vector<Rows>(samples, Rows{static_cast<std::int64_t>(first.first)}));
  EXPECT_EQ(first.options.seed, 17U);
  EXPECT_EQ(first.options.max_new_tokens, 4);
  EXPECT_EQ(first.options.temperature, 0.5);
  EXPECT_EQ(first.options.top_p, 0.75);
  EXPECT_EQ(first.options.ends, Rows{9});
  needs.write(Texts(samples, {{5, 6, 7, 9}, {-1, -1, -1, -1}}));
  EXPECT_EQ(needs.written(), 7U);

  const auto inputs = feed->load(7);

  EXPECT_EQ(rows(*inputs), Rows(samples, 5));
  EXPECT_EQ(inputs->stream_state, "") << "the texts of the step after are missing";
  EXPECT_FALSE(inputs->is_last);
  needs.write(Texts(samples, {{5, 6, 7, 8}, {-1, -1, -1, -1}}));
  const auto state = nlohmann::json::parse(needs.stream_state());
  EXPECT_EQ(state["replica"], 1);
  EXPECT_EQ(state["state"]["stream"], "kept");
  EXPECT_EQ(state["state"]["pending"][0]["texts"].size(), samples);
}

TEST_F(SourceFeedTest, HasNoRolloutsForAnEvaluation) {
  options.source = std::make_shared<RolloutSource>([] { return std::make_shared<Echoes>(); });
  options.cycle_steps = 2;

  EXPECT_THAT(test::error_of([&] { make_source_feed(options); }, ErrorKind::input),
              HasSubstr("an evaluation, needs another source"));
}

TEST_F(SourceFeedTest, GoesOnWithTheStateOfAStreamWhichOneOfTheRanksSaves) {
  options.source = std::make_shared<StreamSource>([] { return std::make_shared<Counter>(9); });
  options.first_step = 5;
  options.stream_states = {30, 40};
  options.counts = false;

  const auto inputs = make_source_feed(options)->load(5);

  EXPECT_EQ(rows(*inputs), (Rows{30, 31, 32, 33}));
  EXPECT_EQ(inputs->stream_state, "");
}

TEST_F(SourceFeedTest, ReadsAStreamFromItsBeginningInEachEvaluation) {
  options.source = std::make_shared<StreamSource>([] { return std::make_shared<Counter>(9); });
  options.cycle_steps = 2;
  options.first_step = 5;  // the task throws at step 3
  const auto feed = make_source_feed(options);

  for (const std::uint64_t step : {5, 7}) {
    EXPECT_EQ(rows(*feed->load(step)), (Rows{0, 1, 2, 3}));
    EXPECT_EQ(rows(*feed->load(step + 1)), (Rows{4, 5, 6, 7}));
  }
}

}  // namespace
}  // namespace d9d
