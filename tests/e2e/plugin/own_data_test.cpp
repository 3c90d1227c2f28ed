// The data source of examples/own_project, in jobs with a built-in model; and batches that are trees of tensors.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OwnData : public CurveTest {
 protected:
  static Words repeats(const std::string& keys = "") {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]") +
           set("data", "{source: repeats, length: 32, vocab_size: 64, phrase: 4" + keys + "}");
  }
};

TEST_F(OwnData, TrainsTheSameOnAnyMeshAndGoesOnOnAnother) {
  run(named("alone") + repeats());

  expect_same("replicas", mesh(1, 2) + repeats());
  expect_same_in_halves("moved", mesh(2, 2) + repeats(), repeats());
  EXPECT_EQ(job_.values("alone", "metrics/num_tokens").front(), 8 * (32 - 3))
      << "what is said for the first time does not count";
}

TEST_F(OwnData, HasAnEndAndEpochs) {
  expect_refused(
      repeats(", samples: 100"),
      "trainer.schedule.total_steps = 20, but the data gives 12 steps in 1 epoch: it has 100 samples");
  run(named("twice") + repeats(", samples: 100, epochs: 2"));

  EXPECT_EQ(job_.losses("twice").size(), 20U);
}

TEST_F(OwnData, IsLookedThroughBeforeTheJobStarts) {
  const Words at_home = set("data", "{source: repeats, length: 32, vocab_size: 64}");

  expect_refused(at_home, "data.source: \"repeats\" is not known");
  expect_refused(
      repeats() + set("data.source", "repeat"),
      "no data source is called \"repeat\"; there are: chat, megatron, mixture, prompts, repeats, rows, "
      "synthetic, text, token_lists, tokens");
  expect_refused(repeats(", phrases: 2"), "data.phrases: unknown key; did you mean \"phrase\"?");
  expect_refused(repeats(", epochs: none"), "data.epochs: expected a number of epochs");
  expect_refused(repeats() + set("data.phrase", "0"), "data.phrase: expected a whole number of at least 1");
  const Outcome checked = job_.call(Words{"check", "job.yaml"} + repeats());
  EXPECT_THAT(checked.out, HasSubstr("data      repeats, 1024 samples, 128 steps an epoch"));
}

TEST_F(OwnData, WithIdsThatTheModelDoesNotHaveNamesSourceAndSample) {
  EXPECT_THAT(job_.run(named("large") + repeats() + set("data.vocab_size", "100000")),
              fails(AllOf(HasSubstr("of the data source \"repeats\" holds the token"),
                          HasSubstr("expected at least 0 and less than 512"))))
      << "the job had begun";
}

TEST_F(OwnData, IsAPartOfAMixture) {
  const Words mixed =
      repeats() + set("data",
                      "{source: mixture, parts: [{weight: 3, source: repeats, length: 32, "
                      "vocab_size: 64}, {weight: 1, source: synthetic, sequence_length: 32, vocab_size: "
                      "512}]}");

  run(named("alone") + mixed);
  expect_same_in_halves("moved", mesh(1, 2) + mixed, mesh(2, 1) + mixed);
  expect_refused(mixed + set("data.parts.1.sequence_length", "16"),
                 "data.parts.1: its samples have 16 tokens, those of part 0 have 32");
  expect_refused(mixed + set("data.parts.0.source", "mixture"), "a mixture in a mixture is not supported");
  expect_refused(mixed + set("data.parts.0.weight", "-1"), "data.parts.0.weight: -1 is out of range");
}

// Every eighth token is hidden from the model.
TEST_F(OwnData, IsCollatedByAPlugin) {
  const Words hidden = repeats() + set("collation", "{name: hide, every: 8}");
  run(named("plain") + repeats());
  run(named("alone") + hidden);

  EXPECT_NE(job_.exact_curve("alone"), job_.exact_curve("plain"));
  EXPECT_EQ(job_.values("alone", "metrics/num_tokens"), job_.values("plain", "metrics/num_tokens"));
  expect_same("replicas", mesh(2, 2) + hidden);
  expect_same_in_halves("moved", mesh(1, 2) + hidden, hidden);
}

// The task looks at every tensor of the tree before it trains as causal_lm does.
TEST_F(OwnData, IsCollatedIntoATreeOfTensorsThatATaskReads) {
  const auto trees = [](const std::string& keys) {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_trees_plugin.so]") +
           set("collation", "{name: summed" + keys + "}") + set("task", "checked_lm");
  };
  run(named("alone"));

  run(named("tree") + trees(""));
  EXPECT_EQ(job_.exact_curve("tree"), job_.exact_curve("alone"));
  expect_same_in_halves("moved", mesh(2, 2) + trees(""), mesh(1, 2) + trees(""));

  for (const auto& [keys, error] : {std::pair(", parts: 1", "1 parts of a sequence, expected two halves"),
                                    std::pair(", counts_labels: false", "sums/labels are not there")}) {
    EXPECT_THAT(job_.run(named("wrong") + trees(keys)), fails(error)) << "the job had begun";
  }
}

// Samples of several lengths; the task compares the texts with the tokens.
TEST_F(OwnData, HoldsTextsAndTensorsWhichACollationFillsUp) {
  const Words letters = set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_trees_plugin.so]") +
                        set("data", "letters") + set("task", "caption_lm");
  const Words captioned = letters + set("collation", "captioned");
  run(named("alone") + captioned);

  expect_same_in_halves("moved", mesh(2, 2) + captioned, mesh(1, 2) + captioned);
  // No token sees what fills its row up on the left.
  const Words left = letters + set("collation", "{name: captioned, side: left}");
  expect_same("left", left);
  expect_same("left_context", set("mesh", "{context_parallel_shard: 2}") + left + set("task", "causal_lm"));
  EXPECT_THAT(job_.run(named("stacked") + letters), fails("fill them up with labels")) << "the job had begun";
}

TEST_F(OwnData, ACollationIsRefusedByNameAndByKey) {
  expect_refused(repeats() + set("collation", "hidden"),
                 "no collation is called \"hidden\"; there are: hide");
  expect_refused(repeats() + set("collation", "{name: hide, evry: 2}"),
                 "collation.evry: unknown key; did you mean \"every\"?");
  expect_refused(repeats() + set("collation", "{name: hide, every: 0}"),
                 "collation.every: expected a whole number of at least 1");
  expect_refused(set("collation", "hide"), "a collation of your own, but no library that has it");
}

}  // namespace
}  // namespace d9d::test
