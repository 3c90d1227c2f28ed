// A job hands its memory back and takes it again; its curve is that of one that never slept.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

Words nap(int after) {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_events_plugin.so]") +
         set("actors", "[{name: nap, after: " + std::to_string(after) + "}]");
}
// Parameters of about 25 MiB; with gradients and moments 100 MiB.
Words large() {
  return set("model_provider.model.hidden_size", "256") +
         set("model_provider.model.moe_intermediate_size", "1024") +
         set("model_provider.model.num_hidden_layers", "2");
}

class Sleep : public CurveTest {
 protected:
  // MiB of the process in memory.
  static double resident(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    double all = 0, pages = 0;
    file >> all >> pages;
    return pages * 4096 / (1 << 20);
  }
  // Open files and connections of the process.
  static std::size_t descriptors(pid_t pid) {
    using Entries = std::filesystem::directory_iterator;
    const Entries all("/proc/" + std::to_string(pid) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  std::vector<std::string> left_by_sleep() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(job_.run_folder("tiny"))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("asleep")) names.push_back(name);
    }
    return names;
  }
  // With a nap in the middle and without, to the bit; the checkpoint after it goes on as well.
  void expect_unchanged(const std::string& name, const Words& words) {
    SCOPED_TRACE(name);
    run(named(name) + words);
    ASSERT_THAT(
        job_.run(named(name + "_slept") + nap(5) + words),
        says(AllOf(HasSubstr("asleep after step"), HasSubstr("MiB back"), HasSubstr("awake after step"))));
    EXPECT_EQ(job_.exact_curve(name + "_slept"), job_.exact_curve(name));
  }
};

class SleepOn : public Sleep, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, SleepOn, testing::Values("cpu", "delayed"));

// Memory of a delayed device is the process's.
TEST_P(SleepOn, HandsMemoryBackBySignalAndGoesOnToTheBit) {
  const Words words = large() + set("node.device", GetParam());
  run(named("whole") + words);
  const auto job = job_.start(words);
  job_.wait_for_steps(*job, 3);
  const double before = resident(job->pid());

  job->signal(SIGTSTP);
  job->wait_for_error_text("asleep after step");
  const double asleep = resident(job->pid());
  job->signal(SIGTSTP);  // asleep already
  job->signal(SIGCONT);

  ASSERT_EQ(job->wait(), 0) << job->err();
  EXPECT_LT(asleep, before - 80) << "of " << before << " MiB";
  EXPECT_THAT(job->err(), HasSubstr("awake after step"));
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
  EXPECT_THAT(left_by_sleep(), IsEmpty());
}

TEST_F(Sleep, ByAnActorLeavesEveryMeshAndOptimizerAsItWas) {
  expect_unchanged("alone", {});
  expect_unchanged("stages", mesh(2, 2) + schedule("1f1b"));
  expect_unchanged("shards", set("mesh.data_parallel_shard", "2") + experts_on(2));
  expect_unchanged("matrices",
                   matrices_on(2) + set("optimizer", "{name: adamw_8bit, lr: 0.003, float32_below: 0}"));
  expect_unchanged("sequences", set("mesh.context_parallel_shard", "2"));
  expect_unchanged("both", set("mesh.data_parallel_shard", "2") + set("mesh.pipeline_parallel", "2"));
  expect_unchanged("late", mesh(1, 2) + set("node.device", "delayed"));
  expect_unchanged("nccl", mesh(1, 2) + set("node.device", "delayed") + set("node.collectives", "nccl"));
  // Gathers and gradients open their one communicator on several threads.
  expect_unchanged("shared", set("mesh.data_parallel_shard", "2") + set("node.device", "delayed") +
                                 set("node.collectives", "nccl"));
  expect_unchanged("buffers",
                   set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_events_plugin.so, " D9D_BINARY_DIR
                                  "/tests/e2e/libd9d_buffers_plugin.so]") +
                       set("model_provider", "{name: centred_lm}") + set("node.device", "delayed"));
  expect_unchanged("checked", mesh(2, 2) + set("debug.check_collectives", "true"));
  expect_unchanged("sgd", set("optimizer", "{name: sgd, lr: 0.1, momentum: 0.9}"));
}

TEST_F(Sleep, OfTwoProcessesBeginsAndEndsWithASignalToEither) {
  const Words words = mesh(2, 2) + large() + set("trainer.logging.period_steps", "1");
  run(named("whole") + words);
  const auto [first, second] = job_.start_two(4, words);
  job_.wait_for_steps(*first, 3);
  const std::size_t awake = descriptors(second->pid());

  second->signal(SIGTSTP);
  first->wait_for_error_text("asleep after step");
  // An end and a wake-up for each of both ranks: sums of the step, metrics, gradients, and two lanes.
  second->wait_until("fewer descriptors", [&] { return descriptors(second->pid()) + 16 <= awake; });
  first->signal(SIGCONT);

  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();
  EXPECT_THAT(first->err(), HasSubstr("awake after step"));
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
}

TEST_F(Sleep, ByCommandAndByTheLivePage) {
  run(named("whole") + large());
  const auto job = job_.start(large() + set("node.status", "127.0.0.1:0"));
  const std::string mark = "the run's page is at http://";
  job->wait_for_error_text(mark);
  std::string address = job->err().substr(job->err().find(mark) + mark.size());
  address = address.substr(0, address.find('/'));
  const std::string folder = job_.run_folder("tiny").string();
  job_.wait_for_steps(*job, 3);

  EXPECT_THAT(job_.call({"sleep", folder}), prints("run tiny, process " + std::to_string(job->pid())));
  job->wait_for_error_text("asleep after step");
  EXPECT_THAT(job_.call({"wake", address}), ends_well());

  ASSERT_EQ(job->wait(), 0) << job->err();
  EXPECT_THAT(job->err(), HasSubstr("awake after step"));
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
  EXPECT_THAT(job_.call({"wake", folder}).err, HasSubstr("no job runs in"));
  EXPECT_THAT(job_.call({"wake", address}).err, HasSubstr("nobody answers"));
  EXPECT_THAT(job_.call({"wake", "runs/tinny"}).err, HasSubstr("no folder and no HOST:PORT"));
}

TEST_F(Sleep, EndsWithTheJobWhereASignalStopsIt) {
  job_.rewrite("{total_steps: 20}", "{total_steps: 200}");
  const auto job = job_.start(large());
  job_.wait_for_steps(*job, 2);
  job->signal(SIGTSTP);
  job->wait_for_error_text("asleep after step");

  job->signal(SIGTERM);

  EXPECT_EQ(job->wait(), 128 + SIGTERM) << job->err();
  EXPECT_THAT(job->err(), HasSubstr("stopped by SIGTERM after step"));
  EXPECT_THAT(left_by_sleep(), IsEmpty());
}

TEST_F(Sleep, LeavesNothingOfAKilledJobAndNothingOfEarlierOnes) {
  job_.rewrite("{total_steps: 20}", "{total_steps: 200}");
  const auto job = job_.start(large());
  job_.wait_for_steps(*job, 2);
  job->signal(SIGTSTP);
  job->wait_for_error_text("asleep after step");
  job->kill();
  EXPECT_THAT(left_by_sleep(), IsEmpty());

  std::filesystem::create_directory(job_.run_folder("tiny") / "asleep");
  std::ofstream(job_.run_folder("tiny") / "asleep" / "rank-00000") << "of an earlier version";
  std::ofstream(job_.run_folder("tiny") / "asleep-rank-00007") << "of a job that was killed as it wrote it";
  const auto again = job_.start(large());
  again->wait_until("that nothing of it is left", [&] { return left_by_sleep().empty(); });
  again->kill();
}

}  // namespace
}  // namespace d9d::test
