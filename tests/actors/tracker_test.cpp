#include "actors/tracker.hpp"

#include <gtest/gtest.h>

#include "actors/notes/recorded_value.hpp"
#include "messages/lists.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

constexpr ActorId tracker_id{Role::tracker, 0};

struct Ledger {
  std::map<std::string, double> values;
  std::map<std::string, Histogram> histograms;
  std::map<std::string, std::string> texts;
  std::map<std::string, Point> contexts;
  std::vector<std::int64_t> ended;
  int flushes = 0;
  bool closed = false;
};

class LedgerRun final : public TrackerRun {
 public:
  explicit LedgerRun(Ledger& ledger) : ledger_(ledger) {}
  void write(const Point& point, const TrackerValue& value) override {
    if (const auto* histogram = std::get_if<Histogram>(&value)) {
      ledger_.histograms[flat_name(point)] = *histogram;
    } else if (const auto* text = std::get_if<TextRecord>(&value)) {
      ledger_.texts[flat_name(point)] = text->text;
    } else {
      ledger_.values[flat_name(point)] = std::get<Scalar>(value).value;
      ledger_.contexts[flat_name(point)] = point;
    }
  }
  void end_step(std::int64_t step) override { ledger_.ended.push_back(step); }
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override { ++ledger_.flushes; }
  void close() override { ledger_.closed = true; }

 private:
  Ledger& ledger_;
};

class TrackerTest : public ::testing::Test {
 protected:
  TrackerTest() {
    world.play<Tracker>(tracker_id,
                        TrackerOptions{.open_runs =
                                           [this] {
                                             std::vector<std::unique_ptr<TrackerRun>> runs;
                                             runs.push_back(std::make_unique<LedgerRun>(ledger));
                                             return runs;
                                           },
                                       .show = [this](const ProgressState& view) { shown = view; },
                                       .hide = [this] { hidden = true; },
                                       .resumed_step = 3,
                                       .actor_names = {"guard"},
                                       .flops = PeakFlops{.peak = 1e7, .is_measured = true},
                                       .memory_bytes = [] { return std::uint64_t{1} << 30; },
                                       .samples_per_epoch = [this] { return samples_per_epoch; }});
  }
  Ledger ledger;
  ProgressState shown;
  bool hidden = false;
  std::optional<std::uint64_t> samples_per_epoch = 64;
  ActorWorld world;
};

TEST_F(TrackerTest, WritesTheNumbersOfAStepAndShowsThem) {
  world.say<wire::StepFinished>(tracker_id, [](wire::StepFinished::Builder step) {
    step.setStep(4);
    step.setTotalSteps(9);
    step.setLoss(2.5);
    step.setGradNorm(0.5);
    step.setLearningRate(0.1);
    step.setTokens(1000);
    step.setStepSeconds(2);
    step.setFlops(6e6);
    step.setNextSample(96);
    step.setTokensTotal(4000);
  });

  EXPECT_EQ(ledger.values["loss"], 2.5);
  EXPECT_EQ(ledger.values["grad_norm"], 0.5);
  EXPECT_EQ(ledger.values["lr"], 0.1);
  EXPECT_EQ(ledger.values["tokens_per_second"], 500);
  EXPECT_EQ(ledger.values["flops_per_second"], 3e6);
  EXPECT_DOUBLE_EQ(ledger.values["mfu"], 0.3);
  EXPECT_EQ(ledger.values["measured_peak"], 1e7);
  EXPECT_EQ(ledger.values["tokens_total"], 4000);
  EXPECT_EQ(ledger.values["epoch"], 1.5);
  EXPECT_EQ(ledger.values["memory_bytes"], 0x1p30);
  EXPECT_EQ(ledger.ended, std::vector<std::int64_t>{4});
  EXPECT_EQ(shown.total_steps, 9);
  EXPECT_EQ(shown.tokens_per_second, 500);
  EXPECT_EQ(shown.seconds_left, 10);
}

TEST_F(TrackerTest, WritesHowManyStepsWereSkippedFromTheFirstOneOn) {
  for (const std::uint64_t skipped : {0, 1, 1}) {
    world.say<wire::StepFinished>(tracker_id,
                                  [&](wire::StepFinished::Builder step) { step.setSkippedSteps(skipped); });
    EXPECT_EQ(ledger.values.contains("skipped_steps"), skipped > 0);
  }

  EXPECT_EQ(ledger.values["skipped_steps"], 1);
}

TEST_F(TrackerTest, WritesMetricsUnderTheirNames) {
  world.say<wire::MetricValues>(tracker_id, [](wire::MetricValues::Builder values) {
    values.setStep(4);
    values.initNames(1).set(0, "accuracy");
    values.initValues(1).set(0, 0.75);
  });

  EXPECT_EQ(ledger.values["metrics/accuracy"], 0.75);
}

TEST_F(TrackerTest, WritesHistogramsOfMetrics) {
  world.say<wire::MetricValues>(tracker_id, [](wire::MetricValues::Builder values) {
    values.setStep(4);
    auto histogram = values.initHistograms(1)[0];
    histogram.setName("statistics/all/gradient");
    fill_list(histogram.initEdges(3), std::vector<double>{0, 1, 4});
    fill_list(histogram.initCounts(2), std::vector<double>{5, 6});
  });

  EXPECT_EQ(ledger.histograms["metrics/statistics/all/gradient"].edges, (std::vector<double>{0, 1, 4}));
  EXPECT_EQ(ledger.histograms["metrics/statistics/all/gradient"].counts, (std::vector<double>{5, 6}));
  EXPECT_EQ(ledger.ended, std::vector<std::int64_t>{4});
}

TEST_F(TrackerTest, WritesWhatActorsRecord) {
  const auto record = [&](const auto& fill) { world.say<wire::RecordValue>(tracker_id, fill); };
  record([](wire::RecordValue::Builder value) {
    value.setStep(5);
    value.setName("samples/first");
    value.setText("In the beginning");
  });
  record([](wire::RecordValue::Builder value) {
    value.setStep(5);
    value.setName("reward");
    value.setNumber(0.5);
  });
  record([](wire::RecordValue::Builder value) {
    value.setName("map");
    value.setPicture(capnp::Data::Reader(reinterpret_cast<const kj::byte*>("no picture"), 10));
  });

  EXPECT_EQ(ledger.texts["samples/first"], "In the beginning");
  EXPECT_EQ(ledger.values["reward"], 0.5);
  EXPECT_FALSE(ledger.values.contains("map")) << "it is no PNG file";
  EXPECT_EQ(ledger.ended, (std::vector<std::int64_t>{5, 5}));
}

TEST_F(TrackerTest, WritesWhatWasEvaluatedUnderNamesOfItsOwn) {
  world.say<wire::EvaluationFinished>(tracker_id, [](wire::EvaluationFinished::Builder finished) {
    finished.setStep(4);
    finished.setLoss(2.5);
    finished.setWeight(90);
    finished.setTokens(96);
    finished.setSeconds(1.5);
  });
  world.say<wire::MetricValues>(tracker_id, [](wire::MetricValues::Builder values) {
    values.setStep(4);
    values.setEvaluation(true);
    values.initNames(1).set(0, "accuracy");
    values.initValues(1).set(0, 0.75);
  });

  EXPECT_EQ(ledger.values["evaluation/loss"], 2.5);
  EXPECT_EQ(ledger.values["evaluation/tokens"], 96);
  EXPECT_EQ(ledger.values["evaluation/seconds"], 1.5);
  EXPECT_EQ(ledger.values["evaluation/metrics/accuracy"], 0.75);
}

// A confusion matrix per class is soon a hundred values.
TEST_F(TrackerTest, WritesAsManyMetricsAsThereAre) {
  world.say<wire::MetricValues>(tracker_id, [](wire::MetricValues::Builder values) {
    auto names = values.initNames(200);
    auto numbers = values.initValues(200);
    for (unsigned i = 0; i < 200; ++i) {
      names.set(i, "recall/" + std::to_string(i));
      numbers.set(i, i);
    }
  });

  EXPECT_EQ(ledger.values["metrics/recall/199"], 199);
}

TEST_F(TrackerTest, OfDataThatNeverEndsHasNoEpoch) {
  samples_per_epoch.reset();
  world.say<wire::StepFinished>(tracker_id, [](wire::StepFinished::Builder step) { step.setStep(4); });

  EXPECT_FALSE(ledger.values.contains("epoch"));
}

TEST_F(TrackerTest, AnswersOnceAllOfTheStepIsThereAndItsFilesHoldIt) {
  world.say<wire::FlushTracker>(tracker_id, [](wire::FlushTracker::Builder ask) { ask.setStep(6); },
                                {Role::coordinator, 0});
  for (const std::uint64_t number : {4, 5, 6}) {
    EXPECT_TRUE(world.heard<wire::TrackerFlushed>().empty());
    world.say<wire::StepFinished>(tracker_id, [&](wire::StepFinished::Builder step) {
      step.setStep(number);
      step.setMetricsFollow(number == 5);
    });
  }
  EXPECT_TRUE(world.heard<wire::TrackerFlushed>().empty()) << "metrics of step 5 are missing";
  world.say<wire::MetricValues>(tracker_id, [](wire::MetricValues::Builder values) { values.setStep(5); });

  EXPECT_EQ(world.last<wire::TrackerFlushed>(ActorId{Role::coordinator, 0})->getStep(), 6U);
  EXPECT_EQ(ledger.flushes, 1);
}

TEST_F(TrackerTest, ClosesItsRunsWhenItIsStopped) {
  world.say<wire::Stop>(tracker_id);

  EXPECT_TRUE(ledger.closed);
  EXPECT_TRUE(hidden);
  EXPECT_FALSE(world.lives(tracker_id));
}

// "step" would move a line of metrics.jsonl, "loss" would take the place of what was measured.
TEST_F(TrackerTest, PutsWhatAPieceShowsUnderAJobsNameBesideTheJobsOwn) {
  const auto show = [&](const char* name, double number, ActorId from) {
    world.say<wire::RecordValue>(
        tracker_id,
        [&](wire::RecordValue::Builder value) {
          value.setStep(5);
          value.setName(name);
          value.setNumber(number);
        },
        from);
  };
  const ActorId guard{Role::user, 0}, trainer{Role::trainer, 0};
  for (const char* name : {"loss", "step", "evaluation/loss", "metrics/perplexity", "roll_backs"})
    show(name, 99, guard);
  show("lr", 98, trainer);
  show("roll_backs", 2, trainer);
  show("losses", 3, guard);

  for (const char* name : {"loss", "step", "evaluation/loss", "metrics/perplexity", "lr"})
    EXPECT_FALSE(ledger.values.contains(name)) << name;
  for (const char* name :
       {"guard/loss", "guard/step", "guard/evaluation/loss", "guard/metrics/perplexity", "guard/roll_backs"})
    EXPECT_EQ(ledger.values[name], 99) << name;
  EXPECT_EQ(ledger.values["task/lr"], 98);
  EXPECT_EQ(ledger.values["roll_backs"], 2) << "of the Trainer itself";
  EXPECT_EQ(ledger.values["losses"], 3);
}

// TRACK-04. A context sets a value apart from the job's own; its values stand before the name where there are none.
TEST_F(TrackerTest, PassesOnTheContextOfWhatIsShown) {
  const auto show = [&](const char* name, const char* subset) {
    world.say<wire::RecordValue>(tracker_id,
                                 [&](wire::RecordValue::Builder value) {
                                   fill(value, {5, name, 7.0, {{"subset", subset}}});
                                 },
                                 {Role::user, 0});
  };
  show("loss", "validation");
  show("loss", "evaluation");

  EXPECT_EQ(ledger.values["validation/loss"], 7);
  EXPECT_EQ(ledger.contexts["validation/loss"].name, "loss");
  EXPECT_EQ(ledger.contexts["validation/loss"].context, (PointContext{{"subset", "validation"}}));
  EXPECT_FALSE(ledger.values.contains("evaluation/loss")) << "that is the job's";
  EXPECT_EQ(ledger.values["evaluation/guard/loss"], 7);
}

// LOOP-81
TEST_F(TrackerTest, SaysWhichStepsItsRunsHaveWhereTheJobWantsToKnow) {
  const auto finish = [&](ActorId tracker) {
    world.say<wire::StepFinished>(tracker, [](wire::StepFinished::Builder step) { step.setStep(4); });
  };
  finish(tracker_id);
  EXPECT_TRUE(world.heard<wire::StepShown>().empty());

  TrackerOptions options;
  options.open_runs = [] { return std::vector<std::unique_ptr<TrackerRun>>(); };
  options.resumed_step = 3;
  options.says_what_is_shown = true;
  world.play<Tracker>({Role::tracker, 1}, options);
  finish({Role::tracker, 1});
  EXPECT_EQ(world.last<wire::StepShown>(ActorId{Role::trainer, 0})->getStep(), 4U);
}

TEST_F(TrackerTest, WarnsOnceOfTwoValuesOfOneName) {
  testing::internal::CaptureStderr();
  for (const std::uint64_t step : {4, 5}) {
    world.say<wire::MetricValues>(tracker_id, [&](wire::MetricValues::Builder values) {
      values.setStep(step);
      auto names = values.initNames(3);
      names.set(0, "accuracy");
      names.set(1, "recall");
      names.set(2, "accuracy");
      fill_list(values.initValues(3), std::vector<double>{0.75, 0.5, 0.25});
    });
  }
  const std::string log = testing::internal::GetCapturedStderr();

  const std::string warning = "two values of the metrics are called \"metrics/accuracy\"";
  ASSERT_NE(log.find(warning), std::string::npos) << log;
  EXPECT_EQ(log.find(warning, log.find(warning) + 1), std::string::npos) << log;
  EXPECT_EQ(log.find("metrics/recall"), std::string::npos) << log;
}

}  // namespace
}  // namespace d9d
