// Jobs on texts, files of token ids, and mixtures of them.
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Corpora : public CurveTest {
 protected:
  // 160 documents of about 20 tokens.
  Corpora() {
    std::string text;
    for (int i = 0; i < 160; ++i) {
      text += "the stone of day " + std::to_string(i) + " is the " + std::to_string(i * i % 7) +
              " of the house\n";
    }
    job_.folder().write("lines.txt", text);
    job_.folder().write("lines.jsonl",
                        "{\"text\": \"In the beginning God created the heaven and the earth.\"}\n"
                        "{\"text\": \"And the earth was without form, and void.\"}\n");
  }
  static std::string text(const std::string& more = "") {
    return "source: text, files: [lines.txt], tokenizer: " D9D_SOURCE_DIR
           "/examples/quickstart/tokenizer.json, document: line, eos_token: <|endoftext|>, epochs: "
           "as_needed" +
           more;
  }
  static Words data(const std::string& keys) {
    return set("model_provider.model.vocab_size", "2048") + set("data", "{" + keys + "}");
  }
  std::string out_of(const Words& words) {
    const Outcome outcome = job_.call(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_F(Corpora, TakeTheTokenizerOfTheModelsFolderAndCanBeLookedAt) {
  const std::string keys =
      "source: text, files: [lines.txt], document: line, sequence_length: 32, threads: 2";
  std::filesystem::create_directories(job_.folder() / "model");
  std::filesystem::copy_file(D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json",
                             job_.folder() / "model/tokenizer.json");
  const Words folder = set("trainer.model_stage_factory.source_checkpoint", "model");

  const Words job = Words{"data", "peek", "job.yaml"};
  EXPECT_THAT(out_of(job + data(keys) + folder + Words{"--samples", "1"}),
              AllOf(HasSubstr("sample 0: 32 tokens, 32 of them with a label"),
                    HasSubstr("text  the stone of day 0 is the 0 of the house")));
  EXPECT_THAT(job_.call(job + data(keys)),
              is_refused("data.tokenizer: missing, and the job names no model's folder"));
}

TEST_F(Corpora, ATokenizerShowsTheTokensOfAText) {
  const std::string file = D9D_SOURCE_DIR "/tests/golden/tokenizer/bert.json";

  EXPECT_THAT(out_of({"data", "tokenize", file, "The actor sends"}),
              AllOf(HasSubstr("[CLS]\n"), HasSubstr("  actor\n"), HasSubstr("decoded: the actor sends\n")));
  EXPECT_THAT(job_.call({"data", "tokenize", job_.folder().path().string(), "x"}).err,
              HasSubstr("has no tokenizer.json and no tokenizer.model"));
}

TEST_F(Corpora, TextIsTheSameFromItsCacheAndAsAMegatronCorpus) {
  const std::string length = ", sequence_length: 32", cached = length + ", cache: tokens";
  run(named("text") + data(text(length)));

  const std::string made = out_of(Words{"data", "prepare", "job.yaml"} + data(text(cached)));
  EXPECT_THAT(out_of(Words{"data", "peek", "job.yaml", "--rate", "0.01"} + data(text(cached))),
              AllOf(HasSubstr("one loader makes"), HasSubstr("100.0 % of them have a label")));
  EXPECT_THAT(made, AllOf(HasSubstr("data made, tokens/"), HasSubstr("tokens of uint16, 160 documents")));
  EXPECT_THAT(out_of(Words{"data", "prepare", "job.yaml"} + data(text(cached))), HasSubstr("data was there"));
  std::filesystem::rename(job_.folder() / "lines.txt", job_.folder() / "moved.txt");
  Words moved = data(text(cached)) + set("data.files.0", "moved.txt");
  run(named("cached") + moved);
  std::smatch prefix;
  ASSERT_TRUE(std::regex_search(made, prefix, std::regex("tokens/[0-9a-f]{32}/tokens")));
  run(named("megatron") +
      data("source: megatron, prefix: " + prefix.str() + ", sequence_length: 32, epochs: as_needed"));

  EXPECT_EQ(job_.exact_curve("cached"), job_.exact_curve("text"));
  EXPECT_EQ(job_.exact_curve("megatron"), job_.exact_curve("text"));
  EXPECT_THAT(
      out_of({"data", "inspect", prefix.str() + ".idx", "--tokenizer",
              D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json"}),
      AllOf(HasSubstr("160 documents"), HasSubstr("the stone of day 0 is the 0 of the house<|endoftext|>")));
}

TEST_F(Corpora, PaddingChangesNothing) {
  run(named("alone") + data(text(", samples: document, sequence_length: 32")));
  ASSERT_THAT(out_of(Words{"check", "job.yaml"} + data(text(", samples: document, sequence_length: 32"))),
              HasSubstr("160 samples"))
      << "each document is one sample";

  expect_same("longer", data(text(", samples: document, sequence_length: 64")));
}

TEST_F(Corpora, PaddedDocumentsAreTheSameOnAnyMesh) {
  const Words words = data(text(", samples: document, sequence_length: 16, shuffle: true"));
  run(named("alone") + words);

  expect_same("replicas", mesh(2, 2) + words);
  expect_same("context", set("mesh.context_parallel_shard", "2") + words);
  expect_same_in_halves("moved", mesh(1, 2) + words, mesh(2, 1) + words);
}

// 60 samples: the checkpoint is within the second epoch, the job ends within the third.
TEST_F(Corpora, ByLengthInShardsGoOnOverTheEndsOfEpochs) {
  std::string few;
  for (int i = 0; i < 60; ++i)
    few += "day " + std::to_string(i) + std::string(i % 9, '.') + " of the house\n";
  job_.folder().write("few.txt", few);
  Words words =
      data(text(", samples: document, sequence_length: 32, shuffle: true, order: {sorted: {buffer_size: 25, "
                "pack_size: 4}, shards: {count: 3, turn: 2}}"));
  words = words + set("data.files", "[few.txt]");
  run(named("alone") + words);

  expect_same_in_halves("moved", mesh(1, 2) + words, mesh(2, 1) + words);
  run_in_halves("resumed", words, words);
  EXPECT_EQ(job_.exact_curve("resumed"), job_.exact_curve("alone"));
}

// What is filled up counts in no loss, so less of it changes nothing.
TEST_F(Corpora, BatchesCutToTheirLongestSampleTrainTheSameOnAnyMesh) {
  const Words words =
      data(text(", samples: document, sequence_length: 64, shuffle: true, order: {sorted: {buffer_size: 48, "
                "pack_size: 8}}")) +
      set("trainer.logging.peak_flops", "1e12");
  const Words cut = words + set("trainer.batching.cut_to_longest", "true");
  run(named("alone") + words);

  expect_same("cut", cut);
  const auto tokens = [&](const char* name) { return job_.values(name, "tokens_total").back(); };
  // Of a token: what fills rows up counts in neither. Rates are of the step's seconds, which cancel out.
  const auto flops_per_token = [&](const char* name) {
    return job_.values(name, "flops_per_second").back() / job_.values(name, "tokens_per_second").back();
  };
  EXPECT_NEAR(flops_per_token("cut"), flops_per_token("alone"), 0.01 * flops_per_token("alone"));
  EXPECT_EQ(tokens("cut"), tokens("alone"));
  expect_same("stages", mesh(2, 2) + schedule("1f1b") + cut);
  EXPECT_NEAR(flops_per_token("stages"), flops_per_token("cut"), 1e-6 * flops_per_token("cut"));
  expect_same("sequences", set("mesh.context_parallel_shard", "2") + cut);
  expect_same("shards", set("mesh.data_parallel_shard", "2") + experts_on(2) + cut);
  expect_same("matrices", matrices_on(2) + cut);
  expect_same_in_halves("moved", mesh(1, 2) + cut, mesh(2, 1) + cut);
  expect_refused(set("trainer.batching.cut_to_longest", "true"), "all have one length");
}

TEST_F(Corpora, ByLengthInShardsAreTheSameOnAnyMesh) {
  const auto keys = [](const std::string& order) {
    return data(text(", samples: document, sequence_length: 32, shuffle: true, order: " + order));
  };
  const Words words =
      keys("{sorted: {buffer_size: 48, pack_size: 8}, shards: {count: 2, mode: chunked, turn: 4}}");
  run(named("alone") + words);
  run(named("by_length") + keys("{sorted: {buffer_size: 48, pack_size: 8}}"));
  run(named("shuffled") + keys("{}"));

  EXPECT_NE(job_.exact_curve("alone"), job_.exact_curve("by_length"));
  EXPECT_NE(job_.exact_curve("by_length"), job_.exact_curve("shuffled"));
  expect_same_in_halves("moved", mesh(1, 2) + words, mesh(2, 1) + words);
}

TEST_F(Corpora, ACheckpointInAnotherOrderByLengthIsRefusedUntilTheSeedIsGiven) {
  const auto keys = [](const std::string& seed) {
    return named("seeded") +
           data(text(", samples: document, sequence_length: 32, order: {sorted: {buffer_size: 48, "
                     "pack_size: 8}}" +
                     seed));
  };
  run(keys(", seed: 7"));

  EXPECT_THAT(job_.run(keys("")), is_refused("was written with data.seed 7"));
}

TEST_F(Corpora, OrdersThatMakeNoSenseAreRefused) {
  const auto keys = [](const std::string& more) { return data(text(", sequence_length: 32, " + more)); };

  expect_refused(keys("order: {sorted: {buffer_size: 48, pack_size: 8}}"),
                 "data.order.sorted: the samples of this source all have one length");
  expect_refused(keys("samples: document, order: {sorted: {buffer_size: 4, pack_size: 8}}"),
                 "data.order.sorted: packs of 8 in buffers of 4");
  expect_refused(keys("order: {shards: {count: 1000}}"), "data.order.shards.count: 1000 shards of ");
  expect_refused(keys("order: {shards: {count: 2, mode: blocks}}"), "data.order.shards.mode");
  expect_refused(
      set("data", "{source: synthetic, sequence_length: 32, vocab_size: 512, order: {shards: {count: 2}}}"),
      "data.order: unknown key");
}

TEST_F(Corpora, AMixtureGoesOnOnAnotherMesh) {
  const Words words =
      data("source: mixture, parts: [{weight: 0.7, " + text(", sequence_length: 32, shuffle: true") +
           "}, {weight: 0.2, " + text(", sequence_length: 32, samples: document, shuffle: true") +
           "}, {weight: 0.1, source: synthetic, sequence_length: 32, vocab_size: 2048}]");
  run(named("alone") + words);

  expect_same("replicas", mesh(1, 2) + words);
  expect_same_in_halves("moved", mesh(2, 2) + words, words);
}

#if D9D_HAS_ARROW
TEST_F(Corpora, RowsOfTablesAreTheSameAsLinesAndGoOnOnAnotherMesh) {
  const std::string tables = D9D_SOURCE_DIR "/tests/golden/tables/";
  const auto ids = [&](const std::string& files, const std::string& format, const std::string& more = "") {
    return "source: token_lists, files: [" + tables + files + "], format: " + format +
           ", labels_field: labels, sequence_length: 4, samples: packed, shuffle: true, epochs: as_needed" +
           more;
  };
  const auto text_of = [&](const std::string& files, const std::string& format) {
    return "source: text, files: [" + tables + files + "], format: " + format +
           ", tokenizer: " D9D_SOURCE_DIR
           "/examples/quickstart/tokenizer.json, sequence_length: 4, epochs: as_needed";
  };
  const auto both = [&](const std::string& files, const std::string& format) {
    return data("source: mixture, parts: [{weight: 0.6, " + ids(files, format) + "}, {weight: 0.4, " +
                text_of(files, format) + "}]");
  };
  run(named("alone") + both("saved/train", "arrow"));

  expect_same("parquet", mesh(1, 2) + both("zstd.parquet", "parquet"));
  expect_same_in_halves("moved", mesh(2, 2) + both("saved/train", "arrow"), both("saved/train", "arrow"));

  const Words cached = data(ids("zstd.parquet", "parquet", ", cache: tokens"));
  EXPECT_THAT(out_of(Words{"data", "prepare", "job.yaml"} + cached),
              AllOf(HasSubstr("data made, tokens/"), HasSubstr("21 tokens of int32, 6 documents")));
  EXPECT_THAT(out_of(Words{"data", "peek", "job.yaml"} + cached),
              HasSubstr("sample 0: 3 tokens filled up to 4, 2 of them with a label"));
  EXPECT_THAT(out_of({"data", "inspect", tables + "saved/train", "--documents", "5"}),
              AllOf(HasSubstr("7 rows in 2 files, 2 batches\n  text: string\n"), HasSubstr("row 0 of "),
                    HasSubstr("caf\u00e9")));
}
#endif

TEST_F(Corpora, AMixtureEndsWithItsFirstPart) {
  const Words words = data(
      "source: mixture, parts: [{weight: 1, " + text(", sequence_length: 32") +
      "}, {weight: 1, source: text, files: [lines.jsonl], format: jsonl, samples: document, "
      "tokenizer: " D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json, sequence_length: 32, epochs: 8}]");

  const Outcome refused = job_.run(words);
  EXPECT_THAT(refused, is_refused("trainer.schedule.total_steps = 20, but the mixture gives 4 steps"));
  EXPECT_THAT(refused.err, HasSubstr("Set total_steps to 4, or give that part more epochs"));
}

}  // namespace
}  // namespace d9d::test
