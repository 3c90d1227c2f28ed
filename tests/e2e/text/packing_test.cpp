// Jobs whose rows hold several documents, and jobs on conversations.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

constexpr const char* tokenizer_key =
    ", tokenizer: " D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json, eos_token: <|endoftext|>";

class Packing : public CurveTest {
 protected:
  // 160 documents of 9 to 40 tokens, and as many conversations.
  Packing() {
    std::string lines, talk;
    for (int i = 0; i < 160; ++i) {
      std::string line = "the stone of day " + std::to_string(i);
      for (int j = 0; j < i % 7; ++j) line += " is the " + std::to_string((i + j) % 7) + " of the house";
      lines += line + "\n";
      talk += R"({"messages": [{"role": "user", "content": "what is the stone of day )" + std::to_string(i) +
              R"(?"}, {"role": "assistant", "content": ")" + line + "\"}]}\n";
    }
    job_.folder().write("lines.txt", lines);
    job_.folder().write("talk.jsonl", talk);
  }
  static std::string text(const std::string& more) {
    return "source: text, files: [lines.txt], document: line, epochs: as_needed" +
           std::string(tokenizer_key) + ", sequence_length: 64" + more;
  }
  static std::string chat(const std::string& more = "") {
    return "source: chat, files: [talk.jsonl], epochs: as_needed" + std::string(tokenizer_key) +
           ", sequence_length: 64, roles: {user: {prefix: \"Q: \", suffix: \" \"}, assistant: {prefix: "
           "\"A: \"}}" +
           more;
  }
  static Words data(const std::string& keys) {
    return set("model_provider.model.vocab_size", "2048") + set("data", "{" + keys + "}");
  }
  // How many samples `check` counts.
  std::string samples_of(const Words& words) {
    const Outcome outcome = job_.call(Words{"check", "job.yaml"} + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::smatch found;
    EXPECT_TRUE(std::regex_search(outcome.out, found, std::regex("([0-9]+) samples"))) << outcome.out;
    return found[1];
  }
  static Words all_at_once(const std::string& samples) {
    return set("trainer.batching", "{global_batch_size: " + samples + ", microbatch_size: 1}");
  }
};

// A step of all documents, so that its loss is the mean over the same tokens in both ways. What is evaluated
// after a step is what the next one begins with.
TEST_F(Packing, TrainsAndEvaluatesAsOnDocumentsOneByOne) {
  const Words one_by_one = data(text(", samples: document")), packed = data(text(", samples: packed"));
  ASSERT_EQ(samples_of(one_by_one), "160");
  const std::string rows = samples_of(packed);
  EXPECT_LT(std::stoi(rows), 90);
  run(named("alone") + one_by_one + all_at_once("160"));

  expect_same("packed", packed + all_at_once(rows) +
                            set("evaluation",
                                "{data: {" + text(", samples: packed") + "}, batches: 1, period_steps: 1}"));

  EXPECT_EQ(job_.values("packed", "metrics/num_tokens"), job_.values("alone", "metrics/num_tokens"));
  const auto losses = job_.losses("packed"), evaluated = job_.values("packed", "evaluation/loss");
  ASSERT_EQ(evaluated.size(), losses.size());
  for (std::size_t step = 1; step < losses.size(); ++step)
    EXPECT_NEAR(evaluated[step - 1], losses[step], 1e-5 * losses[step]) << step;
}

TEST_F(Packing, IsTheSameOnAnyMesh) {
  const Words words = data(text(", samples: packed, shuffle: true"));
  run(named("alone") + words);

  expect_same("replicas", mesh(2, 2) + words);
  expect_same("matrices", matrices_on(2) + words);
  expect_same("ring", set("mesh.context_parallel_shard", "4") + words);
  expect_same("heads", set("mesh.context_parallel_shard", "2") +
                           set("parallelism.context.attention", "ulysses") + mesh(2, 1) + words);
  expect_same("recomputed", set("model_provider.enable_checkpointing", "true") + words);
}

TEST_F(Packing, GoesOnOnAnotherMeshInsideAMixtureAndFromTheCache) {
  const auto mixture = [](const std::string& cache) {
    return data("source: mixture, parts: [{weight: 0.6, " + text(", samples: packed, shuffle: true" + cache) +
                "}, {weight: 0.3, " + chat() +
                "}, {weight: 0.1, source: synthetic, sequence_length: 64, vocab_size: 2048}]");
  };
  run(named("alone") + mixture(""));
  ASSERT_THAT(job_.call(Words{"data", "prepare", "job.yaml"} + mixture(", cache: tokens")), ends_well());

  expect_same_in_halves("moved", mesh(2, 2) + mixture(", cache: tokens"),
                        set("mesh.context_parallel_shard", "2") + mixture(", cache: tokens"));
}

TEST_F(Packing, OfConversationsCountsWhatTheAssistantSays) {
  run(named("alone") + data(chat()));
  run(named("all") + data(chat(", trained_roles: [user, assistant]")));

  expect_same("shared", mesh(1, 2) + set("mesh.context_parallel_shard", "2") + data(chat()));
  const auto sum_of = [this](const std::string& run) {
    const auto tokens = job_.values(run, "metrics/num_tokens");
    return std::accumulate(tokens.begin(), tokens.end(), 0.0);
  };
  EXPECT_LT(sum_of("alone"), 0.85 * sum_of("all"));
  EXPECT_EQ(sum_of("shared"), sum_of("alone"));
}

TEST_F(Packing, SaysWhichLineOfAConversationIsWrong) {
  job_.folder().write("talk.jsonl", "{\"messages\": [{\"role\": \"tool\", \"content\": \"a\"}]}\n");

  EXPECT_THAT(job_.run(data(chat())),
              is_refused("talk.jsonl:1: a message has the role \"tool\", which data.roles lacks"));
}

}  // namespace
}  // namespace d9d::test
