// Events: callbacks of a task on the rank where they happen, and messages to actors.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/curve_test.hpp"
#include "tests/support/json_lines.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

Words events_library() {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_events_plugin.so]");
}
Words task(const std::string& mode) {
  return events_library() + set("task", "{name: heard, mode: " + mode + "}");
}
Words listener(const std::string& keys) {
  return events_library() + set("actors", "[{name: listener, " + keys + "}]");
}
Words steps(int count) {
  return set("trainer.schedule.total_steps", std::to_string(count)) +
         set("trainer.checkpointing", "{period_steps: 100}");
}

class Events : public CurveTest {
 protected:
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> all;
    std::ifstream file(job_.folder() / name);
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
};

TEST_F(Events, AreHeardByATaskOnEveryRankInTheOrderOfTheJobsLife) {
  run(named("heard") + task("writes") + mesh(2, 1) + schedule("1f1b") + steps(6));

  const auto losses = job_.losses("heard");
  for (const char* rank : {"heard-0.txt", "heard-1.txt"}) {
    SCOPED_TRACE(rank);
    const auto heard = lines(rank);
    ASSERT_THAT(heard, SizeIs(4 + 1 + 6 * 6 + 1));
    EXPECT_THAT(std::vector(heard.begin(), heard.begin() + 5),
                ElementsAre("configuration.start of 2 ranks", "model_stages", "optimizer", "lr_scheduler",
                            "ready 1"));
    EXPECT_THAT(std::vector(heard.begin() + 11, heard.begin() + 17),
                ElementsAre("step.pre 2", "forward.pre 2", "forward.post 2", "optimizer.pre 2",
                            "optimizer.post 2", StartsWith("step.post 2 ")));
    EXPECT_DOUBLE_EQ(std::stod(heard[16].substr(12)), losses[1]) << "the loss over all ranks";
    EXPECT_EQ(heard.back(), "finished 6");
  }
}

TEST_F(Events, OfAnEvaluationAreHeardByATaskOnEveryStageAroundIt) {
  run(named("evaluated") + task("writes") + mesh(2, 1) + schedule("1f1b") + steps(6) +
      set("evaluation",
          "{data: {source: synthetic, sequence_length: 32, vocab_size: 512}, batches: 2, "
          "period_steps: 2}"));

  const auto evaluations = job_.values("evaluated", "evaluation/loss");
  ASSERT_THAT(evaluations, SizeIs(3));
  for (const char* rank : {"heard-0.txt", "heard-1.txt"}) {
    SCOPED_TRACE(rank);
    const auto heard = lines(rank);
    const auto pre = std::find(heard.begin(), heard.end(), "evaluation.pre 2");
    ASSERT_LT(heard.end() - pre, static_cast<std::ptrdiff_t>(heard.size()));
    ASSERT_GE(heard.end() - pre, 3);
    EXPECT_THAT(*std::prev(pre), StartsWith("step.post 2 "));
    EXPECT_THAT(*std::next(pre), StartsWith("evaluation.post 2 "));
    EXPECT_DOUBLE_EQ(std::stod(std::next(pre)->substr(18)), evaluations[0]);
    EXPECT_EQ(*std::next(pre, 2), "step.pre 3");
  }
}

TEST_F(Events, SubscribersThatThrowOrComeLateChangeNothing) {
  run(named("quiet") + task("writes"));
  for (const char* mode : {"throws", "late"}) {
    const Outcome outcome = job_.run(named(mode) + task(mode) + mesh(1, 1));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(job_.exact_curve(mode), job_.exact_curve("quiet")) << mode;
    EXPECT_THAT(outcome.err,
                HasSubstr("heard threw in train.optimizer_step.pre on rank 0 and is not heeded: "));
    EXPECT_THAT(outcome.err,
                HasSubstr(mode == std::string("late") ? "heard subscribes to train.step.pre too late"
                                                      : "not my day"));
  }
}

// LOOP-30
TEST_F(Events, ASubscriberEndsTheJobWellWithTheStepAfterItsOwn) {
  const Outcome outcome =
      job_.run(named("ended") + task("ends") + mesh(1, 2) + set("trainer.checkpointing.period_steps", "100"));

  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(job_.losses("ended").size(), 4U);
  EXPECT_THAT(job_.checkpoints("ended"), ElementsAre(4));
  EXPECT_THAT(outcome.err, HasSubstr("the job ends after step 4: heard on rank 0: three steps are enough"));
}

TEST_F(Events, ASubscriberThatSaysSoFailsTheJobByAThrow) {
  EXPECT_THAT(job_.run(named("failed") + task("fails") + mesh(1, 2)),
              fails("heard threw in train.step.post on rank 1: three steps are too many"));
}

TEST_F(Events, ReachActorsFromEveryRankThatTheyAskFor) {
  run(named("plain") + mesh(2, 1) + schedule("1f1b"));

  run(named("all") + mesh(2, 1) + schedule("1f1b") +
      listener("event: train.optimizer_step.post, every_rank: true"));

  EXPECT_EQ(job_.exact_curve("all"), job_.exact_curve("plain"));
  const auto heard = lines("listened.txt");
  EXPECT_THAT(heard, SizeIs(40));
  EXPECT_THAT(heard, AllOf(Contains("train.optimizer_step.post 20 0 {}"),
                           Contains("train.optimizer_step.post 20 1 {}")));
}

TEST_F(Events, ReachActorsThatSubscribeInTheMiddleOfTheJob) {
  run(named("late") + mesh(1, 2) + steps(120) + listener("event: '*', from_step: 10"));

  const auto heard = lines("listened.txt");
  EXPECT_THAT(heard, Contains(StartsWith("train.step.post 119 0 {\"loss\":")));
  EXPECT_THAT(heard, Contains(StartsWith("train.forward_backward.pre 119 0")));
  EXPECT_THAT(heard, Not(Contains(StartsWith("train.step.post 9 "))));
  EXPECT_THAT(heard, Not(Contains(HasSubstr(" 119 1 ")))) << "of rank 0 alone";
}

// It hears of both ranks' beginnings, each of them once, and of the steps from then on.
TEST_F(Events, OfTheBeginningReachActorsThatSubscribeInTheMiddleAndAskForThem) {
  run(named("late") + mesh(1, 2) + steps(120) +
      listener("event: '*', every_rank: true, from_step: 10, past: true"));

  const auto heard = lines("listened.txt");
  EXPECT_EQ(std::ranges::count(heard, "train.configuration.start 0 0 {}"), 1) << "of the job";
  for (const char* event : {"configuration.data_stream 0", "configuration.model_stages 0",
                            "configuration.optimizer 0", "configuration.lr_scheduler 0", "ready 1"}) {
    for (const int rank : {0, 1}) {
      const std::string line = "train." + std::string(event) + " " + std::to_string(rank) + " {}";
      EXPECT_EQ(std::ranges::count(heard, line), 1) << line;
    }
  }
  EXPECT_THAT(heard, Contains(StartsWith("train.forward_backward.pre 119 1")));
  EXPECT_THAT(heard, Not(Contains(StartsWith("train.step.post 9 ")))) << "steps are not kept";
}

// A job of a fifth of a second is over before such an actor has handled its first steps.
TEST_F(Events, AreAllHandledByAnActorThatIsSlowerThanTheJob) {
  run(named("slow") + mesh(1, 1) + listener("event: '*', pause_ms: 20"));

  const auto heard = lines("listened.txt");
  EXPECT_THAT(heard, Contains(StartsWith("train.step.post 20 0 {")));
  EXPECT_THAT(heard, Contains(StartsWith("train.finished 20 0")));
  std::vector<double> shown;
  for (const nlohmann::json& json : json_lines(job_.run_folder("slow") / "metrics.jsonl")) {
    if (json.contains("listened")) shown.push_back(json.at("step"));
  }
  EXPECT_THAT(shown, Contains(1));
  EXPECT_THAT(shown, Contains(20)) << "what it shows is among the run's numbers";
}

TEST_F(Events, ThatAJobDoesNotHaveAreRefusedByName) {
  const Outcome outcome = job_.run(named("typo") + listener("event: train.stepp.post"));

  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("subscribed to \"train.stepp.post\", which is no event"));
}

}  // namespace
}  // namespace d9d::test
