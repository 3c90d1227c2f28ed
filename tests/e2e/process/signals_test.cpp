// Signals as schedulers and people send them: to real processes, at bad moments.
#include <gmock/gmock.h>

#include <csignal>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

constexpr int terminated_code = 128 + SIGTERM;
constexpr int interrupted_code = 128 + SIGINT;
constexpr int signal_steps = 60;
constexpr std::chrono::seconds within_grace{60};  // the grace, and a busy machine

class Signals : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{total_steps: 20}", "{total_steps: " + std::to_string(signal_steps) + "}");
    job_.rewrite("{period_steps: last_step}", "{period_steps: 1000}");
  }

  // A job whose third step does not end.
  std::unique_ptr<Process> start_stuck(const Words& words) {
    auto job = job_.start(set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_evil_plugin.so]") +
                          set("task", "{name: evil, mode: stuck}") + words);
    job->wait_for_error_text("stuck");
    return job;
  }
  // Where the one stopped, the next goes on: the whole curve is that of a run nobody disturbed.
  void expect_goes_on_as_if_nothing_had_happened(const Words& words) {
    const Outcome whole = job_.run(named("whole") + words);
    ASSERT_EQ(whole.code, 0) << whole.err;
    ASSERT_THAT(job_.run(words), says("resuming from"));
    EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
  }

  TinyJob job_;
};

TEST_F(Signals, SigtermInTheMiddleOfAStepFinishesItSavesItAndLeavesAllFilesWhole) {
  const auto job = job_.start({});
  job_.wait_for_steps(*job, 5);
  job->signal(SIGTERM);

  ASSERT_EQ(job->wait(within_grace), terminated_code) << job->err();
  const auto saved = job_.checkpoints("tiny");
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("stopped by SIGTERM after step " + std::to_string(saved[0])),
                                HasSubstr("save-" + std::to_string(saved[0]))));
  EXPECT_EQ(job_.losses("tiny").size(), static_cast<std::size_t>(saved[0])) << "no metric is lost";
  EXPECT_TRUE(std::filesystem::exists(job_.run_folder("tiny") / "traces"));
  expect_goes_on_as_if_nothing_had_happened({});
}

TEST_F(Signals, SigintOnOneOfTwoProcessesStopsBothAtTheSameStep) {
  const auto [first, second] = job_.start_two(4, mesh(2, 2));
  job_.wait_for_steps(*first, 5);
  second->signal(SIGINT);

  ASSERT_EQ(first->wait(within_grace), interrupted_code) << first->err();
  ASSERT_EQ(second->wait(within_grace), interrupted_code) << second->err();
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U);
  EXPECT_THAT(second->err(), HasSubstr("SIGINT: stopping after this step"));
  EXPECT_THAT(second->err(), Not(HasSubstr("error")));
  expect_goes_on_as_if_nothing_had_happened(mesh(2, 2));
}

// A terminal that is closed. `nohup` ignores it.
TEST_F(Signals, SighupSavesACheckpointAndIsIgnoredWhereItWas) {
  const auto job = job_.start({});
  job_.wait_for_steps(*job, 3);
  job->signal(SIGHUP);

  ASSERT_EQ(job->wait(within_grace), 128 + SIGHUP) << job->err();
  EXPECT_THAT(job->err(), HasSubstr("stopped by SIGHUP after step"));
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U);

  const auto ignoring = job_.start_within({"/usr/bin/env", "--ignore-signal=HUP"}, named("ignoring"));
  ignoring->wait_for_error_text("step");
  ignoring->signal(SIGHUP);
  EXPECT_EQ(ignoring->wait(), 0) << ignoring->err();
}

// `d9d-node job.yaml 2>&1 | tee log` and Ctrl-C: `tee` dies first.
TEST_F(Signals, AReaderOfTheLogThatIsGoneCostsNothing) {
  const auto job = job_.start_within(
      {"/bin/bash", "-c", R"(exec 3> >(head -n 1 > first_line); exec "$@" >&3 2>&3)", "bash"},
      set("trainer.schedule.total_steps", "1000000000"));
  job->wait_until("the first line is read", [&] {
    return std::filesystem::exists(job_.folder().path() / "first_line") && job_.losses("tiny").size() >= 10;
  });
  job->signal(SIGINT);

  EXPECT_EQ(job->wait(within_grace), interrupted_code);
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U);
}

TEST_F(Signals, AStoppedRunFinalizesItsTask) {
  const auto job = job_.start(set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_evil_plugin.so]") +
                              set("task", "{name: evil, mode: none}"));
  job_.wait_for_steps(*job, 3);
  job->signal(SIGTERM);

  EXPECT_EQ(job->wait(within_grace), terminated_code) << job->err();
  EXPECT_THAT(job->err(), HasSubstr("finalized\n"));
}

TEST_F(Signals, TheSameSignalToAllProcessesIsOne) {
  const auto [first, second] = job_.start_two(4, mesh(2, 2));
  job_.wait_for_steps(*first, 5);
  second->signal(SIGTERM);
  first->signal(SIGTERM);
  first->signal(SIGTERM);  // a launcher passes on what the group has got already

  EXPECT_EQ(first->wait(within_grace), terminated_code) << first->err();
  EXPECT_EQ(second->wait(within_grace), terminated_code) << second->err();
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U);
}

TEST_F(Signals, ASecondOneLeavesWithoutACheckpoint) {
  const auto job = start_stuck({});
  job->signal(SIGTERM);
  job->wait_for_error_text("stopping after this step");
  job->wait_until("the second signal is taken", [&] {
    job->signal(SIGTERM);
    return job->err().find("leaving without finishing") != std::string::npos;
  });

  EXPECT_EQ(job->wait(std::chrono::seconds(20)), terminated_code);
  EXPECT_TRUE(job_.checkpoints("tiny").empty());
}

TEST_F(Signals, WhatCannotBeFinishedInTheGraceIsNamedAndLeft) {
  const auto job = start_stuck(set("node.stop_grace", "1"));
  job->signal(SIGTERM);

  EXPECT_EQ(job->wait(std::chrono::seconds(20)), terminated_code);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("node.stop_grace"), HasSubstr("Not finished: "),
                                HasSubstr("rank_executor/0 (task evil) in ")));
}

TEST_F(Signals, SigusrWritesACheckpointAndTheRunGoesOn) {
  const auto [first, second] = job_.start_two(4, mesh(2, 2));
  job_.wait_for_steps(*first, 3);
  second->signal(SIGUSR1);

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  const auto saved = job_.checkpoints("tiny");
  ASSERT_EQ(saved.size(), 2U) << "the one asked for, and the last";
  EXPECT_LT(saved[0], signal_steps);
  EXPECT_EQ(job_.losses("tiny").size(), static_cast<std::size_t>(signal_steps));
}

TEST_F(Signals, WithoutCheckpointingItIsSaidThatNothingIsSaved) {
  job_.rewrite("{period_steps: 1000}", "{period_steps: disable}");
  const auto job = job_.start(set("trainer.schedule.total_steps", "100000"));
  job_.wait_for_steps(*job, 3);
  job->signal(SIGUSR1);
  job->wait_for_error_text("checkpointing is off, nothing was saved");
  job->signal(SIGTERM);

  EXPECT_EQ(job->wait(within_grace), terminated_code);
  EXPECT_THAT(job->err(), HasSubstr("there is no checkpoint to go on from"));
}

TEST_F(Signals, AStopInTheMiddleOfACheckpointLeavesOnlyWholeOnes) {
  job_.rewrite("{period_steps: 1000}", "{period_steps: 1}");
  const auto job = job_.start(set("trainer.schedule.total_steps", "100000"));
  const auto folder = job_.run_folder("tiny") / "checkpoints";
  const auto being_written = [&] {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().find(".tmp-") != std::string::npos) return true;
    }
    return false;
  };
  job->wait_until("a checkpoint that is being written", being_written);
  job->signal(SIGTERM);

  EXPECT_EQ(job->wait(within_grace), terminated_code) << job->err();
  EXPECT_FALSE(being_written()) << "committed or gone";
  EXPECT_EQ(static_cast<std::size_t>(job_.checkpoints("tiny").back()), job_.losses("tiny").size());
}

TEST_F(Signals, InTheMiddleOfAnExportTheTargetIsWholeOrAbsent) {
  const auto job = job_.start(set("export_to", "out"));
  const auto target = job_.folder().path() / "out";
  job->wait_until("the export", [&] { return std::filesystem::exists(target); });
  job->signal(SIGTERM);

  // The export may have been over: then the run was.
  EXPECT_THAT(job->wait(within_grace), AnyOf(Eq(terminated_code), Eq(0))) << job->err();
  EXPECT_TRUE(std::filesystem::exists(target / "model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(target / "config.json"));
}

TEST_F(Signals, AStoppedRunLeavesTheExportToTheNextOne) {
  const auto job = job_.start(set("export_to", "out"));
  job_.wait_for_steps(*job, 3);
  job->signal(SIGTERM);

  ASSERT_EQ(job->wait(within_grace), terminated_code) << job->err();
  EXPECT_THAT(job->err(), HasSubstr("the export to out is left out"));
  EXPECT_FALSE(std::filesystem::exists(job_.folder().path() / "out"));
  EXPECT_EQ(job_.run(set("export_to", "out")).code, 0);
  EXPECT_TRUE(std::filesystem::exists(job_.folder().path() / "out"));
}

TEST_F(Signals, BeforeTheJobHasFormedAllLeaveAtOnce) {
  const Words half = mesh(2, 2) + Words{"--ranks", "1"};
  const auto first = job_.start(half + Words{"--listen", "127.0.0.1:0"});
  const auto second = job_.start(half + Words{"--join", "127.0.0.1:" + port_of(*first)});
  first->wait_for_error_text("2 of 4 ranks are here");
  first->signal(SIGTERM);

  EXPECT_EQ(first->wait(std::chrono::seconds(20)), terminated_code) << first->err();
  EXPECT_EQ(second->wait(std::chrono::seconds(20)), terminated_code) << second->err();
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny") / "metrics.jsonl"));
}

TEST_F(Signals, AJoinerThatIsStoppedBeforeTheJobFormsFreesItsPlace) {
  const Words half = mesh(2, 2) + Words{"--ranks", "2"};
  const auto first = job_.start(half + Words{"--listen", "127.0.0.1:0"});
  const std::string port = port_of(*first);
  {
    const auto third = Words{"--ranks", "1"};
    const auto early = job_.start(mesh(2, 2) + third + Words{"--join", "127.0.0.1:" + port});
    first->wait_for_error_text("3 of 4 ranks are here");
    early->signal(SIGTERM);
    EXPECT_EQ(early->wait(std::chrono::seconds(20)), terminated_code) << early->err();
  }
  first->wait_for_error_text("is gone again");
  const auto second = job_.start(half + Words{"--join", "127.0.0.1:" + port});

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
}

}  // namespace
}  // namespace d9d::test
