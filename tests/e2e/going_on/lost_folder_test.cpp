// Jobs whose folder was taken from them: they write nothing more into it.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LostFolder : public testing::Test {
 protected:
  void SetUp() override { job_.rewrite("{period_steps: last_step}", "{period_steps: 1000}"); }

  std::unique_ptr<Process> start_endless(const Words& words = {}) {
    auto job = job_.start(set("trainer.schedule.total_steps", "1000000000") + words);
    job->wait_until("three steps", [&] { return job_.losses("tiny").size() >= 3; });
    return job;
  }
  std::string lock() const { return job_.run_folder("tiny") / "job.lock"; }

  TinyJob job_;
};

TEST_F(LostFolder, OneThatWasRemovedIsNotMadeAgain) {
  const auto job = start_endless();
  std::filesystem::rename(job_.run_folder("tiny"), job_.folder().path() / "moved");

  EXPECT_EQ(job->wait(), 1);

  EXPECT_THAT(job->err(), AllOf(HasSubstr("job.lock is gone"), HasSubstr("writes nothing more")));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

// As after a container's pause: the next job came meanwhile, and has checkpoints of its own.
TEST_F(LostFolder, AJobThatWasStoppedMeanwhileTouchesNothingOfTheNext) {
  const auto first = start_endless();
  first->signal(SIGSTOP);
  std::filesystem::remove_all(job_.run_folder("tiny"));
  ASSERT_THAT(job_.run(set("trainer.checkpointing.period_steps", "10")), ends_well());
  for (const std::filesystem::path folder : {"", "checkpoints"})
    std::ofstream(job_.run_folder("tiny") / folder / "job.lock")
        << R"({"run": "theirs", "host": "far-away", "pid": 7, "tag": "another"})";
  const auto kept = job_.checkpoints("tiny");
  const auto curve = job_.exact_curve("tiny");

  first->signal(SIGCONT);

  EXPECT_EQ(first->wait(), 1);
  EXPECT_THAT(first->err(),
              HasSubstr("was taken over by another job (run theirs, process 7 on host far-away"));
  EXPECT_EQ(job_.checkpoints("tiny"), kept);
  EXPECT_EQ(job_.exact_curve("tiny"), curve);
  EXPECT_TRUE(std::filesystem::exists(lock())) << "it is not this job's to remove";
}

TEST_F(LostFolder, AllProcessesOfACommandEnd) {
  const auto job = start_endless(mesh(1, 2) + set("node.processes", "2"));
  std::filesystem::rename(job_.run_folder("tiny"), job_.folder().path() / "moved");

  EXPECT_EQ(job->wait(), 1);

  EXPECT_THAT(job->err(), AllOf(HasSubstr("job.lock is gone"), Not(HasSubstr("and was killed"))));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

}  // namespace
}  // namespace d9d::test
