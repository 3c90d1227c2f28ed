// Killed jobs go on from the last committed checkpoint as if nothing had happened.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

constexpr int killed_code = 128 + 9;
constexpr std::chrono::seconds within_seconds{30};  // far below the timeout of a step

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{total_steps: 20}", "{total_steps: 60}");
    job_.rewrite("{period_steps: last_step}", "{period_steps: 5, num_to_keep: 3}");
  }

  std::vector<std::string> uninterrupted_curve(const Words& words) {
    EXPECT_THAT(job_.run(named("whole") + words), ends_well());
    EXPECT_EQ(job_.exact_curve("whole").size(), 60);
    return job_.exact_curve("whole");
  }

  // Kills a started job as soon as a checkpoint of at least this step is committed.
  void kill_after_checkpoint(Process& process, int step) {
    process.wait_until("checkpoint " + std::to_string(step), [&] {
      const auto steps = job_.checkpoints("tiny");
      return !steps.empty() && steps.back() >= step;
    });
    process.kill();
    ASSERT_EQ(process.wait(), killed_code) << "it had ended before the kill";
    ASSERT_LT(job_.checkpoints("tiny").back(), 60) << "nothing was left to resume";
  }

  // The name of a checkpoint that is not committed yet; empty when there is none.
  std::string half_written() const {
    std::error_code ignored;
    const auto folder = job_.run_folder("tiny") / "checkpoints";
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      if (name.find(".tmp-") != std::string::npos) return name;
    }
    return {};
  }

  std::string newest_checkpoint() const { return "save-" + std::to_string(job_.checkpoints("tiny").back()); }

  void expect_resumes_after_two_kills(const Words& words) {
    const auto whole = uninterrupted_curve(words);

    kill_after_checkpoint(*job_.start(words), 10);
    kill_after_checkpoint(*job_.start(words), 30);
    const std::string from = newest_checkpoint();
    ASSERT_THAT(job_.run(words), says("resuming from runs/tiny/checkpoints/" + from));
    EXPECT_EQ(job_.exact_curve("tiny"), whole);
  }

  TinyJob job_;
};

TEST_F(Resume, IsBitExactAfterTwoKillsOnOneRank) {
  expect_resumes_after_two_kills({});
}

TEST_F(Resume, IsBitExactAfterTwoKillsOnStagesTimesReplicas) {
  expect_resumes_after_two_kills(mesh(2, 2));
}

TEST_F(Resume, IsBitExactAfterTwoKillsOnRanksThatShareTheExperts) {
  expect_resumes_after_two_kills(mesh(2, 2) + experts_on(2));
}

TEST_F(Resume, IsBitExactWhenOneOfTwoProcessesWasKilled) {
  const auto whole = uninterrupted_curve(mesh(2, 2));

  {
    const auto [first, second] = job_.start_two(4, mesh(2, 2));
    kill_after_checkpoint(*second, 10);
    EXPECT_EQ(first->wait(within_seconds), 1);
    EXPECT_THAT(first->err(), HasSubstr("node 1 (127.0.0.1) is gone: it closed the connection"));
    EXPECT_THAT(first->err(), HasSubstr("Start the job again: it goes on from runs/tiny/checkpoints/save-"));
  }
  {
    const auto [first, second] = job_.start_two(4, mesh(2, 2));
    kill_after_checkpoint(*first, 30);
    EXPECT_EQ(second->wait(within_seconds), 1);
    EXPECT_THAT(second->err(), HasSubstr("node 0 is gone: it closed the connection"));
  }
  const auto [first, second] = job_.start_two(4, mesh(2, 2));
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.exact_curve("tiny"), whole);
}

TEST_F(Resume, GoesOnOnAnotherMesh) {
  ASSERT_THAT(job_.run(named("whole")), ends_well());

  kill_after_checkpoint(*job_.start(mesh(1, 2)), 10);
  ASSERT_THAT(job_.run(mesh(2, 1)), says("resuming from runs/tiny/checkpoints/save-"));
  const auto got = job_.losses("tiny");
  const auto expected = job_.losses("whole");
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i])) << "at step " << i + 1;
  }
  EXPECT_EQ(job_.values("tiny", "tokens_total"), job_.values("whole", "tokens_total"));
  EXPECT_EQ(job_.values("tiny", "tokens_total").back(), 60 * 8 * 32);
}

TEST_F(Resume, TakesTheCheckpointBeforeADamagedOne) {
  const auto whole = uninterrupted_curve(mesh(1, 2));
  kill_after_checkpoint(*job_.start(mesh(1, 2)), 15);
  const auto steps = job_.checkpoints("tiny");
  const auto damaged = "save-" + std::to_string(steps.back());
  const auto before = "save-" + std::to_string(steps.at(steps.size() - 2));
  std::fstream shard(job_.run_folder("tiny") / "checkpoints" / damaged / "rank-00000.safetensors",
                     std::ios::in | std::ios::out | std::ios::binary);
  shard.seekg(-100, std::ios::end);
  const char byte = static_cast<char>(shard.get());
  shard.seekp(-100, std::ios::end);
  shard.put(static_cast<char>(byte ^ 1));
  shard.close();
  ASSERT_TRUE(shard.good());

  const Outcome rest = job_.run(mesh(1, 2));

  ASSERT_THAT(rest, says(damaged));
  EXPECT_THAT(rest.err, HasSubstr("resuming from runs/tiny/checkpoints/" + before));
  EXPECT_EQ(job_.exact_curve("tiny"), whole);
}

TEST_F(Resume, GoesOnFromTheCheckpointBeforeTheOneThatWasBeingWritten) {
  // Large enough that the kill comes before the last byte is on disk.
  job_.rewrite("hidden_size: 64", "hidden_size: 256");
  job_.rewrite("vocab_size: 512\n", "vocab_size: 20000\n");
  job_.rewrite("{total_steps: 60}", "{total_steps: 8}");
  job_.rewrite("period_steps: 5,", "period_steps: 3,");
  ASSERT_EQ(job_.run(named("whole") + mesh(1, 2)).code, 0);

  {
    const auto killed = job_.start(mesh(1, 2));
    killed->wait_until("the second checkpoint being written",
                       [&] { return half_written().starts_with("save-6"); });
    killed->kill();
  }
  const std::string leftover = half_written();
  ASSERT_TRUE(leftover.starts_with("save-6")) << "the checkpoint was committed before the kill";
  const Outcome rest = job_.run(mesh(1, 2));

  ASSERT_THAT(rest, says("removed the leftover " + leftover));
  EXPECT_THAT(rest.err, HasSubstr("resuming from runs/tiny/checkpoints/save-3"));
  EXPECT_EQ(half_written(), "");
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
}

// Not every tensor of the model is in the checkpoint; not every
// tensor of the checkpoint is in the model; one has another shape.
TEST_F(Resume, FailsUnlessEveryTensorIsProducedAndConsumed) {
  job_.rewrite("{total_steps: 60}", "{total_steps: 5}");
  ASSERT_EQ(job_.run({}).code, 0);
  const auto expect_failure = [&](const std::string& key, const std::string& value, const std::string& text) {
    SCOPED_TRACE(text);
    EXPECT_THAT(job_.run(set("model_provider.model." + key, value) + mesh(1, 2)), is_refused(text));
  };

  expect_failure("num_hidden_layers", "3", "has no param of model.layers.2.");
  expect_failure("num_hidden_layers", "1", "tensors but the job's model and optimizer take");
  expect_failure("moe_intermediate_size", "32", "in the shape");
  EXPECT_EQ(job_.checkpoints("tiny").back(), 5) << "and the checkpoint stays as it was";
}

TEST_F(Resume, TrainsNothingWhenTheJobWasDone) {
  job_.rewrite("{total_steps: 60}", "{total_steps: 5}");
  ASSERT_EQ(job_.run({}).code, 0);
  const auto curve = job_.exact_curve("tiny");

  EXPECT_THAT(job_.run({}), says("nothing left to train"));
  EXPECT_EQ(job_.exact_curve("tiny"), curve);
}

}  // namespace
}  // namespace d9d::test
