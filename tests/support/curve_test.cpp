#include "tests/support/curve_test.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

namespace d9d::test {

CurveTest::CurveTest() {
  job_.rewrite("{period_steps: last_step}", "{period_steps: 10, num_to_keep: null}");
}

Words CurveTest::schedule(const std::string& name) const {
  return set("trainer.pipelining.schedule", "{schedule: " + name + "}");
}

void CurveTest::run(const Words& words) {
  const Outcome outcome = job_.run(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
}

void CurveTest::run_in_halves(const std::string& name, const Words& first, const Words& second) {
  run(named(name) + first);
  std::filesystem::remove_all(job_.run_folder(name) / "checkpoints/save-20");
  const Outcome rest = job_.run(named(name) + second);
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, testing::HasSubstr("resuming from runs/" + name + "/checkpoints/save-10"));
}

void CurveTest::run_in_two_processes(const std::string& name, int ranks, const Words& words) {
  const auto [first, second] = job_.start_two(ranks, named(name) + words);
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
}

void CurveTest::expect_same_curve(const std::string& got, const std::string& expected, double learnt) {
  constexpr std::size_t num_steps = 20;
  const auto losses = job_.losses(got);
  const auto reference = job_.losses(expected);
  ASSERT_EQ(losses.size(), num_steps) << got;
  ASSERT_EQ(reference.size(), num_steps) << expected;
  EXPECT_LT(reference.back(), reference.front() - learnt)
      << "the model learnt too little to compare anything";
  for (std::size_t i = 0; i < num_steps; ++i) {
    EXPECT_NEAR(losses[i], reference[i], 1e-5 * std::abs(reference[i])) << got << " at step " << i + 1;
  }
}

void CurveTest::expect_same(const std::string& name, const Words& words) {
  SCOPED_TRACE(name);
  run(named(name) + words);
  expect_same_curve(name);
}

void CurveTest::expect_same_in_halves(const std::string& name, const Words& first, const Words& second) {
  SCOPED_TRACE(name);
  run_in_halves(name, first, second);
  expect_same_curve(name);
}

void CurveTest::expect_same_in_two_processes(const std::string& name, int ranks, const Words& words) {
  SCOPED_TRACE(name);
  run_in_two_processes(name, ranks, words);
  expect_same_curve(name);
}

void CurveTest::expect_refused(const Words& words, const std::string& text) {
  SCOPED_TRACE(text);
  for (const Words& command : {Words{"job.yaml"}, Words{"check", "job.yaml"}}) {
    const Outcome outcome = job_.call(command + words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(text));
  }
}

}  // namespace d9d::test
