// Users' code that throws, blocks or crashes, and hosts that give too little: one clear report and an exit code.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds soon{60};
constexpr const char* evil_plugin_file = D9D_BINARY_DIR "/tests/e2e/libd9d_evil_plugin.so";

int times(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class NothingHangs : public testing::Test {
 protected:
  std::unique_ptr<Process> start_with_task(const std::string& mode, const Words& words = {}) {
    return job_.start(set("plugins", std::string("[") + evil_plugin_file + "]") +
                      set("task", "{name: evil, mode: " + mode + "}") + words);
  }
  // Long enough that the actor has subscribed before the end.
  std::unique_ptr<Process> start_with_actor(const std::string& mode) {
    return job_.start(set("trainer.schedule.total_steps", "300") +
                      set("plugins", std::string("[") + evil_plugin_file + "]") +
                      set("actors", "[{name: evil_actor, mode: " + mode + "}]"));
  }

  TinyJob job_;
};

TEST_F(NothingHangs, ATaskFactoryThatThrowsAnythingEndsTheJobWithItsName) {
  const auto standard = start_with_task("factory");
  EXPECT_EQ(standard->wait(soon), 1);
  EXPECT_THAT(standard->err(),
              AllOf(HasSubstr("the factory of the task \"evil\" threw: a bad day"), Not(HasSubstr("bug"))));

  const auto number = start_with_task("factory_int");
  EXPECT_EQ(number->wait(soon), 1);
  EXPECT_THAT(number->err(),
              HasSubstr("the factory of the task \"evil\" threw: an exception of unknown type"));

  const auto input = start_with_task("factory_input");
  EXPECT_EQ(input->wait(soon), 2);
  EXPECT_THAT(input->err(), HasSubstr("the key of mine is wrong"));
}

TEST_F(NothingHangs, ATaskThatCannotTakeItsStateBackSaysSo) {
  const auto before = start_with_task("none");
  ASSERT_EQ(before->wait(), 0) << before->err();

  const auto after = start_with_task("load_state", set("trainer.schedule.total_steps", "30"));

  EXPECT_EQ(after->wait(soon), 1);
  EXPECT_THAT(after->err(), HasSubstr("the task's load_state threw: a bad day"));
}

TEST_F(NothingHangs, ATaskWhoseFinalizeThrowsEndsTheJobWithItsTextAndKeepsTheCheckpoint) {
  const auto job = start_with_task("finalize_throws", mesh(1, 2));

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("the task's finalize threw: a bad day. In the trainer of rank "),
                                HasSubstr("step 20"), HasSubstr("save-20"), Not(HasSubstr("bug"))));
  EXPECT_THAT(job_.checkpoints("tiny"), testing::ElementsAre(20));
}

TEST_F(NothingHangs, EveryRanksTaskIsFinalizedOnceAndNoneOfAJobThatFailed) {
  const auto done = start_with_task("none", mesh(1, 2));
  ASSERT_EQ(done->wait(soon), 0) << done->err();
  EXPECT_EQ(times(done->err(), "finalized\n"), 2);

  const auto failed = start_with_task("bad_alloc", mesh(1, 2) + Words{"--fresh"});
  EXPECT_EQ(failed->wait(soon), 1);
  EXPECT_EQ(times(failed->err(), "finalized\n"), 0) << failed->err();
}

TEST_F(NothingHangs, InputsThatTheTaskCannotBuildEndTheJobWithTextRankAndStep) {
  const auto standard = start_with_task("inputs", mesh(2, 1));
  EXPECT_EQ(standard->wait(soon), 1);
  EXPECT_THAT(standard->err(),
              AllOf(HasSubstr("the task's build_forward_inputs of step 3, microbatch 0, threw: a bad day"),
                    HasSubstr("In the loader of rank"), HasSubstr(", step 3."), Not(HasSubstr("bug"))));

  const auto number = start_with_task("inputs_int");
  EXPECT_EQ(number->wait(soon), 1);
  EXPECT_THAT(number->err(), HasSubstr("threw: an exception of unknown type"));

  const auto input = start_with_task("inputs_input");
  EXPECT_EQ(input->wait(soon), 1);
  EXPECT_THAT(input->err(), HasSubstr("the key of mine is wrong"));
}

TEST_F(NothingHangs, BothProcessesEndWhenTheTaskOfTheirJobCannotBeMade) {
  const Words words = mesh(1, 2) + set("plugins", std::string("[") + evil_plugin_file + "]") +
                      set("task", "{name: evil, mode: second_one}");
  const auto [first, second] = job_.start_two(2, words);

  EXPECT_EQ(first->wait(soon), 1) << first->err();
  EXPECT_EQ(second->wait(soon), 1) << second->err();
}

TEST_F(NothingHangs, AnActorFactoryThatThrowsEndsTheJob) {
  const auto job = start_with_actor("factory");

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(), HasSubstr("the factory of the actor \"evil_actor\" threw: a bad day"));
}

TEST_F(NothingHangs, AnActorThatBlocksAtTheEndIsNamed) {
  const auto job = start_with_actor("block");

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(),
              HasSubstr("some actors did not end within 10 s: user/0 (evil_actor) in Event since"));
}

TEST_F(NothingHangs, ASegfaultInAPluginNamesTheActorTheTaskAndTheLibrary) {
  const auto job = start_with_task("segfault");

  EXPECT_EQ(job->wait(soon), 128 + SIGSEGV);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("d9d-node: SIGSEGV"), HasSubstr("in rank_executor/0 (task evil)"),
                                HasSubstr("libd9d_evil_plugin.so")));
}

TEST_F(NothingHangs, AnOverflownStackIsReportedToo) {
  const auto job = start_with_task("overflow");

  EXPECT_EQ(job->wait(soon), 128 + SIGSEGV);
  EXPECT_THAT(job->err(),
              AllOf(HasSubstr("in rank_executor/0 (task evil)"), HasSubstr("libd9d_evil_plugin.so")));
}

// As a copy that did not end leaves it: the loader itself reads where no file is any more.
TEST_F(NothingHangs, APluginThatIsCutShortIsNamedWhereItIsLoaded) {
  const std::filesystem::path cut = job_.folder() / "cut.so";
  std::filesystem::copy_file(D9D_BINARY_DIR "/libd9d_tables.so", cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 10);

  const auto job = job_.start(set("plugins", "[./cut.so]"));

  EXPECT_EQ(job->wait(soon), 128 + SIGBUS);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("d9d-node: SIGBUS"), HasSubstr("cut.so: was it cut short")));
}

TEST_F(NothingHangs, AnAbortInAPluginIsReported) {
  const auto job = start_with_task("abort");

  EXPECT_EQ(job->wait(soon), 128 + SIGABRT);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("SIGABRT"), HasSubstr("in rank_executor/0 (task evil)")));
}

TEST_F(NothingHangs, MemoryThatCannotBeHadIsNoBugAndSaysWhatThereIs) {
  for (const char* mode : {"memory", "bad_alloc"}) {
    const auto job = start_with_task(mode);

    EXPECT_EQ(job->wait(soon), 1) << mode;
    EXPECT_THAT(job->err(), AllOf(HasSubstr("out of memory"), HasSubstr("MemAvailable"), HasSubstr("rank 0"),
                                  Not(HasSubstr("frame #"))))
        << mode;
  }
}

TEST_F(NothingHangs, AnAddressSpaceThatIsTooSmallIsSaidAtTheStart) {
  const auto limited = job_.start_within({"/bin/bash", "-c", "ulimit -v 1000000; exec \"$0\" \"$@\""}, {});

  EXPECT_EQ(limited->wait(soon), 1);
  EXPECT_THAT(limited->err(), AllOf(HasSubstr("ulimit -v"), HasSubstr("the address space of this process")));
}

TEST_F(NothingHangs, AJoinerWhoseNodeZeroIsStoppedHasADeadline) {
  const auto first = job_.start(mesh(1, 2) + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
  const std::string port = port_of(*first);
  first->signal(SIGSTOP);

  const auto second = job_.start(mesh(1, 2) + Words{"--ranks", "1", "--join", "127.0.0.1:" + port} +
                                 set("node.join_timeout", "2"));

  EXPECT_EQ(second->wait(soon), 1);
  EXPECT_THAT(second->err(), AllOf(HasSubstr("127.0.0.1:" + port), HasSubstr("cannot reach node 0")));
}

TEST_F(NothingHangs, WhatAPluginThrowsInAStepNamesPieceAndStepAndIsNoBug) {
  const auto loss = start_with_task("loss");
  EXPECT_EQ(loss->wait(soon), 1);
  EXPECT_THAT(loss->err(), AllOf(HasSubstr("step 3: compute_loss of the task \"evil\" threw: no progress"),
                                 Not(HasSubstr("bug"))));

  const auto actor = start_with_actor("throws");
  EXPECT_EQ(actor->wait(soon), 1);
  EXPECT_THAT(actor->err(),
              AllOf(HasSubstr("user/0 (evil_actor) threw: no progress. In actors.0 of the job file, step 3"),
                    Not(HasSubstr("bug"))));
}

TEST_F(NothingHangs, ALongTextThatAPluginThrowsIsCut) {
  const auto job = start_with_task("long");

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(), HasSubstr("[and 98000 bytes more]"));
  EXPECT_LT(job->err().size(), 20'000U);
}

TEST_F(NothingHangs, ATrackerOrAMetricThatThrowsIsLeftOutAndTrainingGoesOn) {
  const auto tracker = start_with_task("none", set("trainer.logging.tracker", "[{provider: evil_tracker}]"));
  EXPECT_EQ(tracker->wait(soon), 0) << tracker->err();
  EXPECT_EQ(times(tracker->err(), "the tracker \"evil_tracker\" threw in step 3: quota"), 1)
      << tracker->err();

  const auto computes = start_with_task("metric_computes", named("computes"));
  EXPECT_EQ(computes->wait(soon), 0) << computes->err();
  EXPECT_EQ(times(computes->err(), "the metric \"quota\" threw in step"), 1) << computes->err();

  const auto updates = start_with_task("metric_updates", named("updates"));
  EXPECT_EQ(updates->wait(soon), 0) << updates->err();
  EXPECT_THAT(updates->err(),
              HasSubstr("update_metrics of the task \"evil\" threw in step 3, microbatch 0: no metric"));
  for (const char* run : {"tiny", "computes", "updates"}) EXPECT_EQ(job_.losses(run).size(), 20U) << run;
}

TEST_F(NothingHangs, AnExitInAnActorIsThatActorsAndNoCrashOfAnother) {
  const auto job = start_with_actor("exit");

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(), AllOf(HasSubstr("exit() was called in user/0 (evil_actor) while handling Event"),
                                HasSubstr("end_job()"), Not(HasSubstr("SIGSEGV"))));
}

TEST_F(NothingHangs, AnIdBeyondTheVocabularyNamesSourceAndSample) {
  const auto job = start_with_task("none", set("data", "{source: evil_source}"));

  EXPECT_EQ(job->wait(soon), 1);
  EXPECT_THAT(job->err(),
              AllOf(HasSubstr("sample 5 of the data source \"evil_source\" holds the token 100000"),
                    Not(HasSubstr("bug"))));
}

TEST_F(NothingHangs, WhatAPieceShowsDoesNotReplaceTheJobsNumbers) {
  const auto plain = start_with_task("none", named("plain") + set("trainer.schedule.total_steps", "300"));
  const auto shows = start_with_actor("shows");
  ASSERT_EQ(plain->wait(soon), 0) << plain->err();
  ASSERT_EQ(shows->wait(soon), 0) << shows->err();

  EXPECT_EQ(job_.losses("tiny"), job_.losses("plain"));
  EXPECT_THAT(job_.values("tiny", "evil_actor/step"), testing::ElementsAre(777));
  EXPECT_EQ(times(shows->err(), "evil_actor shows \"loss\", which is a number of the job itself"), 1)
      << shows->err();
}

}  // namespace
}  // namespace d9d::test
