// A data source that is a stream with a state: Rows of examples/own_project.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class StreamOfData : public CurveTest {
 protected:
  static Words rows(const std::string& keys = "") {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]") +
           set("data", "{source: rows, length: 32, vocab_size: 64" + keys + "}");
  }
};

// LOOP-24 and CORE-36. Long texts, whose rests travel in the state, and batches that are made ahead of the checkpoint.
TEST_F(StreamOfData, GoesOnToTheBitWithTwoReplicas) {
  const Words words =
      rows(", longest_text: 100") + mesh(1, 2) + set("trainer.data_prefetch.prefetch_factor", "3");
  run(named("through") + words);

  run_in_halves("halves", words, words);

  EXPECT_THAT(job_.losses("through"), SizeIs(20));
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("through"));
  EXPECT_LT(job_.losses("through").back(), job_.losses("through").front() - 0.5);
}

TEST_F(StreamOfData, IsTheSameOnAllRanksOfAReplica) {
  run(named("alone") + rows() + mesh(1, 2));

  expect_same("pipeline", rows() + mesh(2, 2));
  expect_same("matrices", rows() + mesh(1, 2) + matrices_on(2));
  expect_same_in_halves("moved", rows() + mesh(2, 2), rows() + mesh(1, 2));
  expect_same_in_two_processes("processes", 2, rows() + mesh(1, 2));
}

TEST_F(StreamOfData, IsRefusedWithAnotherNumberOfReplicas) {
  run(named("halves") + rows() + mesh(1, 2) + set("trainer.schedule.total_steps", "10"));

  const Outcome outcome = job_.run(named("halves") + rows());
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("has the states of 2 data replicas, and this job has 1"));
}

TEST_F(StreamOfData, EndsTheJobWellWithItsLastWholeStep) {
  const Words few = named("few") + rows(", longest_text: 1, texts: 2900") + mesh(1, 2);
  EXPECT_THAT(job_.run(few), says("the job ends after step 11: the stream of its data has ended"));
  EXPECT_THAT(job_.losses("few"), SizeIs(11)) << "1450 tokens of a replica are 45 rows, and 4 make a step";
  EXPECT_EQ(job_.checkpoints("few").back(), 11);
  EXPECT_THAT(job_.run(few), says("this run was ended after step 11"));
}

TEST_F(StreamOfData, IsReadFromItsBeginningByEachEvaluation) {
  const Words words =
      rows() +
      set("evaluation", "{data: {source: rows, length: 32, vocab_size: 64}, period_steps: 10, batches: 2}");
  run(named("through") + words);

  run_in_halves("halves", words, words);

  const auto losses = job_.values("through", "evaluation/loss");
  ASSERT_THAT(losses, SizeIs(2));
  EXPECT_EQ(job_.values("halves", "evaluation/loss"), losses) << "the second one is the first of its process";
}

TEST_F(StreamOfData, HasNoOrderAndIsNoPartOfAMixture) {
  expect_refused(rows(", order: {sorted: {buffer_size: 64, pack_size: 8}}"),
                 "the source is a stream, whose samples come one after another: it cannot have an order");
  expect_refused(rows() + set("data",
                              "{source: mixture, parts: [{weight: 1, source: rows, length: 32}, {weight: 1, "
                              "source: synthetic, sequence_length: 32, vocab_size: 512}]}"),
                 "it cannot be a part of a mixture");
  expect_refused(rows(", longest: 3"), "data.longest: unknown key");
  EXPECT_THAT(job_.call(Words{"data", "peek", "job.yaml"} + rows()), prints("sample 1: 32 tokens"));
}

}  // namespace
}  // namespace d9d::test
