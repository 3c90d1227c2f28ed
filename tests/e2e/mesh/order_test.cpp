// The order in which actions run, and whether they overlap, changes no number.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

constexpr std::size_t num_steps = 20;

Words schedule(const std::string& name) {
  return set("trainer.pipelining.schedule", "{schedule: " + name + "}");
}

Words dynamic() {
  return set("trainer.pipelining.order", "dynamic");
}

// Two stages per rank.
Words four_layers() {
  return set("model_provider.model.num_hidden_layers", "4");
}

class Order : public testing::Test {
 protected:
  void run(const std::string& name, const Words& words) {
    ASSERT_THAT(job_.run(named(name) + words), ends_well());
  }

  // The static and the dynamic order, to the last digit.
  void expect_same(const Words& words) {
    run("static", words);
    run("dynamic", words + dynamic());

    const auto curve = job_.exact_curve("static");
    EXPECT_EQ(curve.size(), num_steps);
    EXPECT_EQ(job_.exact_curve("dynamic"), curve);
    for (const char* name : {"static", "dynamic"}) std::filesystem::remove_all(job_.run_folder(name));
  }

  TinyJob job_;
};

TEST_F(Order, OfStagesIsNotSeenInTheNumbers) {
  for (const std::string name : {"gpipe", "1f1b", "1f1b, zero_bubble: true"}) {
    SCOPED_TRACE(name);
    expect_same(mesh(2, 1) + schedule(name));
    expect_same(mesh(2, 2) + schedule(name));
  }
}

TEST_F(Order, WithRoomForMoreActivationsIsNotSeenInTheNumbers) {
  const Words words = mesh(2, 1) + four_layers() + schedule("1f1b, num_stages_per_rank: 2");
  run("static", words);
  run("dynamic", words + dynamic() + set("trainer.pipelining.extra_activations", "2"));

  EXPECT_EQ(job_.exact_curve("static").size(), num_steps);
  EXPECT_EQ(job_.exact_curve("dynamic"), job_.exact_curve("static"));
}

TEST_F(Order, OfStagesWhosePeersShareExpertsIsNotSeenInTheNumbers) {
  expect_same(mesh(2, 2) + experts_on(2) + four_layers() +
              schedule("1f1b, num_stages_per_rank: 2, zero_bubble: true"));
}

TEST_F(Order, IsLedAcrossProcesses) {
  // Experts on all four ranks of the one stage: two of them in each process.
  const Words words = mesh(1, 4) + experts_on(4);
  run("static", words);

  const auto [first, second] = job_.start_two(4, named("led") + words + dynamic());

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.exact_curve("led"), job_.exact_curve("static"));
}

TEST_F(Order, OfActionsThatOverlapIsNotSeenInTheNumbers) {
  const Words words =
      four_layers() + mesh(2, 2) + experts_on(2) + set("trainer.batching.global_batch_size", "16");
  run("apart", words + schedule("zero_bubble_v"));
  run("overlapped", words + schedule("dual_pipe_v"));
  run("again", words + schedule("dual_pipe_v") + dynamic());

  const auto expected = job_.losses("apart");
  const auto got = job_.losses("overlapped");
  ASSERT_EQ(got.size(), num_steps);
  for (std::size_t i = 0; i < num_steps; ++i) EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i]));
  EXPECT_EQ(job_.exact_curve("again"), job_.exact_curve("overlapped"));
}

}  // namespace
}  // namespace d9d::test
