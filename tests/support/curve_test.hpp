#pragma once
// The fixture of tests that compare loss curves of whole jobs. The job trains on one rank unless told
// otherwise, 20 steps, with a checkpoint after 10.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {

class CurveTest : public testing::Test {
 protected:
  CurveTest();

  Words schedule(const std::string& name) const;  // of the pipeline, in the job file's words

  void run(const Words& words);
  // The first half of a run with some settings, the second with others.
  void run_in_halves(const std::string& name, const Words& first, const Words& second);
  void run_in_two_processes(const std::string& name, int ranks, const Words& words);

  // Every loss within 1e-5, relative: fp32 sums of another order. Fails also where the expected loss falls by
  // less than `learnt`, since that would compare nothing.
  void expect_same_curve(const std::string& got, const std::string& expected = "alone", double learnt = 0.5);
  // Runs it, and compares with the run `alone`.
  void expect_same(const std::string& name, const Words& words);
  void expect_same_in_halves(const std::string& name, const Words& first, const Words& second);
  void expect_same_in_two_processes(const std::string& name, int ranks, const Words& words);
  // By `run` and by `check`: exit code 2, and the error has this text.
  void expect_refused(const Words& words, const std::string& text);

  TinyJob job_;
};

}  // namespace d9d::test
