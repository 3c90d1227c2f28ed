// What a run makes of its data, and what it leaves: checkpoints, an export, a trace.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int output_length = 32;

// Every next token follows from the one before, so a small model learns it soon.
std::int32_t chain(int row, int column) {
  std::int32_t token = (37 * row + 11) % 64;
  for (int i = 0; i < column; ++i) token = (5 * token + 3) % 64;
  return token;
}

class Outputs : public testing::Test {
 protected:
  Words tokens(const std::string& file, const std::string& more = "") {
    return set("data", "{source: tokens, tokens: " + file + more + "}");
  }

  void expect_failure(const Words& words, int code, const std::vector<std::string>& parts) {
    const Outcome outcome = job_.run(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
  }

  TinyJob job_;
};

TEST_F(Outputs, AJobWithoutALengthEndsWithItsData) {
  job_.folder().write("data.npy", npy_file(42, output_length, chain));
  job_.rewrite("schedule: {total_steps: 20}", "schedule: {}");

  EXPECT_THAT(job_.run(mesh(1, 2) + tokens("data.npy")), ends_well());
  EXPECT_EQ(job_.losses("tiny").size(), 5) << "42 samples are 5 batches of 8 and a rest";
}

TEST_F(Outputs, TheLastLinesSayWhereTheyAre) {
  const Outcome outcome = job_.run(set("export_to", "model"));

  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string last = outcome.err.substr(outcome.err.find("results in runs/tiny:"));
  EXPECT_THAT(last,
              AllOf(HasSubstr("metrics         runs/tiny/metrics.jsonl\n"),
                    HasSubstr("log             runs/tiny/logs\n"),
                    HasSubstr("last checkpoint runs/tiny/checkpoints/save-20\n"),
                    HasSubstr("trace           runs/tiny/traces/"), HasSubstr("exported model  model\n")));
  EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 6) << last;
  EXPECT_THAT(outcome.err, Not(HasSubstr("MiB a rank")));
}

TEST_F(Outputs, ATrackerIsToldWhatTheRunIsAndEverySettingOfIt) {
  ASSERT_THAT(
      job_.run(set("trainer.run", "{name: tiny, description: a first try, hparams: {note: 7}}") +
               set("trainer.logging.tracker", "{provider: log}")),
      says(AllOf(HasSubstr("trainer/run/description = a first try"), HasSubstr("run/note = 7"),
                 HasSubstr("optimizer/lr = 0.003"), HasSubstr("trainer/batching/global_batch_size = 8"),
                 HasSubstr("mesh/pipeline_parallel = 1"))));
}

TEST_F(Outputs, ACauseComesFirstAndNothingAfterIt) {
  const Outcome outcome = job_.run(mesh(1, 2) + set("optimizer.lr", "1.0e+30") + set("node.trace", "false"));

  EXPECT_THAT(outcome, fails("error loss is "));
  const std::string after = outcome.err.substr(outcome.err.find("error loss is "));
  EXPECT_THAT(after, AllOf(HasSubstr("Lower the learning rate, or skip such steps with "),
                           HasSubstr(". In the trainer of rank "), HasSubstr("No checkpoint was committed")));
  for (const char* noise : {"warn", "max_norm", "dropped", "live here", "failed at step"}) {
    EXPECT_THAT(after, Not(HasSubstr(noise)));
  }
}

TEST_F(Outputs, DataThatCannotBeUsedStopsTheJobWithItsPlace) {
  job_.folder().write("large.npy", npy_file(24, output_length, [](int row, int column) {
                        return row == 10 && column == 5 ? 600 : 1;
                      }));
  job_.folder().write("negative.npy",
                      npy_file(24, output_length, [](int row, int) { return row == 10 ? -3 : 1; }));

  expect_failure(mesh(2, 2) + tokens("large.npy"), 2, {"row 10 holds the token 600 at position 5", "512"});
  expect_failure(tokens("negative.npy"), 2, {"negative.npy: row 10 holds the token -3"});
  expect_failure(tokens("missing.npy"), 2, {"cannot open missing.npy: No such file"});
}

TEST_F(Outputs, TheExportScoresAsTheTrainedModelDoes) {
  job_.folder().write("data.npy", npy_file(64, output_length, chain));
  job_.rewrite("total_steps: 20", "total_steps: 60");
  ASSERT_THAT(job_.run(mesh(2, 2) + tokens("data.npy", ", epochs: as_needed") + set("export_to", "exported")),
              ends_well());
  ASSERT_TRUE(std::filesystem::exists(job_.folder() / "exported/config.json"));
  ASSERT_TRUE(std::filesystem::exists(job_.folder() / "exported/model.safetensors"));

  const Outcome scored =
      job_.call({"score", "exported", "--tokens", "data.npy", "--out", "scores.safetensors"});

  ASSERT_EQ(scored.code, 0) << scored.err;
  ASSERT_THAT(scored.out, HasSubstr("loss "));
  const double loss = std::stod(scored.out.substr(scored.out.find("loss ") + 5));
  const double last = job_.losses("tiny").back();
  EXPECT_LT(last, 0.5) << "of 6.2 at the beginning; " << job_.losses("tiny").front();
  EXPECT_NEAR(loss, last, 0.1 * last) << "scored on the samples of training, one update later";
  EXPECT_TRUE(std::filesystem::exists(job_.folder() / "scores.safetensors"));
}

TEST_F(Outputs, ACheckpointIsExportedAfterwardsAsTheRunWouldHaveDone) {
  job_.rewrite("{period_steps: last_step}", "{period_steps: 10}");
  ASSERT_EQ(job_.run(mesh(2, 1) + set("export_to", "by_run")).code, 0);
  const auto weights = [&](const std::string& folder) {
    return text_of_file(job_.folder() / folder / "model.safetensors");
  };

  const Outcome newest = job_.call({"export", "runs/tiny/checkpoints", "newest"});
  const Outcome older = job_.call({"export", "runs/tiny/checkpoints/save-10", "older", "--job", "job.yaml"});

  EXPECT_THAT(newest, prints("exported runs/tiny/checkpoints/save-20 to newest"));
  EXPECT_GT(weights("by_run").size(), 1000);
  EXPECT_EQ(weights("newest"), weights("by_run"));
  EXPECT_EQ(older.code, 0) << older.err;
  EXPECT_NE(weights("older"), weights("by_run"));
}

TEST_F(Outputs, TwoNodesWriteTheFilesOfAnExportTogetherAsOneWritesThem) {
  const auto files = [&](const std::string& folder) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(job_.folder() / folder))
      contents[entry.path().filename()] = text_of_file(entry.path());
    return contents;
  };
  const auto [first, second] =
      job_.start_two(4, mesh(2, 2) + set("export_to", "shared") + set("export_shard_gb", "1.4e-4"));
  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();

  const Outcome alone =
      job_.call({"export", "runs/tiny/checkpoints", "alone", "--shard-size", "140000", "--threads", "1"});

  ASSERT_EQ(alone.code, 0) << alone.err;
  const auto shared = files("shared");
  EXPECT_GT(shared.size(), 4U) << "several weights, index, config.json";
  EXPECT_TRUE(shared == files("alone"));
  EXPECT_THAT(first->err(), Not(HasSubstr("does not see")));
}

TEST_F(Outputs, NodeZeroWritesForANodeThatDoesNotSeeTheFolderOfTheExport) {
  const std::filesystem::path elsewhere = job_.folder() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy(job_.folder() / "job.yaml", elsewhere);
  const Words words = mesh(1, 2) + set("output_dir", (job_.folder() / "runs/far").string()) +
                      set("export_to", "model") + set("export_shard_gb", "1.4e-4") + Words{"--ranks", "1"};

  const auto first = job_.start(words + Words{"--listen", "127.0.0.1:0"});
  const auto second = job_.start_within({"/usr/bin/env", "-C", elsewhere.string()},
                                        words + Words{"--join", "127.0.0.1:" + port_of(*first)});

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_THAT(first->err(), HasSubstr("node 1 does not see model: node 0 writes its share of the export"));
  EXPECT_THAT(job_.call({"checkpoint", "inspect", "model"}), ends_well());
  EXPECT_FALSE(std::filesystem::exists(elsewhere / "model"));
}

TEST_F(Outputs, ACheckpointCarriesTheTokenizerIntoEveryExportAndGenerateFindsIt) {
  const std::string tokenizer = text_of_file(D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json");
  job_.folder().write("words.json", tokenizer);
  std::string bible;
  for (int verse = 0; verse < 60; ++verse)
    bible += "And God said, Let there be light: and there was light.\n\n";
  job_.folder().write("text.txt", bible);
  const Words data = set("data",
                         "{source: text, files: [text.txt], tokenizer: words.json, sequence_length: 32, "
                         "document: paragraph, eos_token: <|endoftext|>, epochs: as_needed}") +
                     set("model_provider.model.vocab_size", "2048");
  ASSERT_EQ(job_.run(mesh(1, 2) + data + set("export_to", "by_run")).code, 0);
  std::filesystem::remove(job_.folder() / "words.json");

  const Outcome exported = job_.call({"export", "runs/tiny/checkpoints", "afterwards"});
  const Outcome text =
      job_.call({"generate", "by_run", "--prompt", "And God", "--tokens", "40", "--temperature", "0"});

  ASSERT_EQ(exported.code, 0) << exported.err;
  for (const std::string folder : {"by_run", "afterwards"}) {
    const auto json_in = [&](const std::string& file) {
      return nlohmann::json::parse(text_of_file(job_.folder() / (folder + "/" + file)));
    };
    EXPECT_EQ(text_of_file(job_.folder() / (folder + "/tokenizer.json")), tokenizer);
    EXPECT_EQ(json_in("config.json")["eos_token_id"], 2047);
    EXPECT_EQ(json_in("generation_config.json")["eos_token_id"], 2047);
    EXPECT_EQ(json_in("tokenizer_config.json")["eos_token"], "<|endoftext|>");
  }
  EXPECT_THAT(text, prints(testing::StartsWith("And God")));
  const Outcome without = job_.call({"generate", "runs", "--prompt", "And God"});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(
      without.err,
      HasSubstr("runs has no tokenizer.json and no tokenizer.model; name the model's tokenizer with"));
}

TEST_F(Outputs, AnExportSaysWhatIsMissing) {
  ASSERT_EQ(job_.run({}).code, 0);
  const auto expect_error = [&](const Words& words, const std::string& text) {
    EXPECT_THAT(job_.call(Words{"export"} + words), is_refused(text));
    EXPECT_FALSE(std::filesystem::exists(job_.folder() / "out" / "config.json"));
  };

  expect_error({"nowhere", "out"}, "nowhere is not there");
  expect_error({"runs", "out"}, "holds no checkpoint");
  expect_error({"runs/tiny/checkpoints/save-20", "out", "--set", "model_provider.model.hidden_size=32"},
               "model.embed_tokens.weight");
}

TEST_F(Outputs, TheTraceOfARunSaysWhereItsTimeWent) {
  ASSERT_EQ(job_.run(mesh(2, 1)).code, 0);

  const Outcome table = job_.call({"trace", "runs/tiny/traces/trace.json.gz"});
  const Outcome of_folder = job_.call({"trace", "runs/tiny"});
  const Outcome none = job_.call({"trace", "job.yaml"});
  const Outcome missing = job_.call({"trace", "nowhere.json.gz"});

  EXPECT_THAT(table, prints(AllOf(HasSubstr("rank_executor/0"), HasSubstr("rank_executor/1"))));
  EXPECT_EQ(of_folder.out, table.out);
  EXPECT_THAT(none, is_refused("job.yaml is no trace of d9d"));
  EXPECT_THAT(missing, fails("cannot read nowhere.json.gz"));
}

}  // namespace
}  // namespace d9d::test
