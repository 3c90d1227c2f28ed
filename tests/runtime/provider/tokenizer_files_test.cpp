#include "runtime/provider/tokenizer_files.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

class TokenizerFilesOf : public testing::Test {
 protected:
  PosixDisk disk_;
  test::TemporaryFolder folder_;
  // 2048 tokens, the last one is <|endoftext|>.
  const std::string vocabulary_ =
      read_text(disk_, D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json", 10'000'000);

  std::string folder(const std::string& name, const std::map<std::string, std::string>& files) {
    disk_.make_directories((folder_ / name).string());
    for (const auto& [file, text] : files) folder_.write(name + "/" + file, text);
    return (folder_ / name).string();
  }

  static LoadedJob job(const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> overrides{"data={sequence_length: 8, " + data + "}",
                                       "model_provider.model.vocab_size=2048"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return testing_job::load(overrides);
  }
  static std::string text_data(const std::string& tokenizer, const std::string& more = "") {
    return "source: text, files: [a], tokenizer: " + tokenizer + more;
  }
  TokenizerFiles files_of(const LoadedJob& loaded) {
    return tokenizer_files_of(disk_, loaded.job, loaded.model.get());
  }
};

// Of a model that begins anew, which has none of its family's (ids 1 and 2 of Llama are signs here).
TEST_F(TokenizerFilesOf, AModelThatBeginsAnewHasTheSpecialTokensOfItsTokenizer) {
  const std::string own =
      folder("new", {{"tokenizer.json", vocabulary_},
                     {"tokenizer_config.json",
                      R"({"bos_token": {"content": "<|endoftext|>"}, "eos_token": "<|endoftext|>"})"}});

  const TokenizerFiles files = files_of(job(text_data(own + "/tokenizer.json")));

  EXPECT_EQ(json::parse(files.at("generation_config.json")),
            (json{{"bos_token_id", 2047}, {"eos_token_id", 2047}}));
}

TEST_F(TokenizerFilesOf, ATextWithAnEndTokenNamesItWhereverOthersLook) {
  const std::string own =
      folder("own", {{"mine.json", vocabulary_}, {"vocab.json", "of another one"}}) + "/mine.json";

  const TokenizerFiles files = files_of(job(text_data(own, ", eos_token: \"<|endoftext|>\"")));

  EXPECT_THAT(
      files, ElementsAre(Key("generation_config.json"), Key("tokenizer.json"), Key("tokenizer_config.json")));
  EXPECT_EQ(files.at("tokenizer.json"), vocabulary_);
  EXPECT_EQ(json::parse(files.at("generation_config.json")), (json{{"eos_token_id", 2047}}));
  const json settings = json::parse(files.at("tokenizer_config.json"));
  EXPECT_EQ(settings["eos_token"], "<|endoftext|>");
  EXPECT_EQ(settings["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(settings["model_max_length"], 32768);
}

// As transformers' Trainer does: a base model's config names another end than the template that it was tuned with.
TEST_F(TokenizerFilesOf, TheEndOfTheTokenizerIsOneOfATunedModelToo) {
  const std::string source = folder(
      "base", {{"tokenizer.json", vocabulary_},
               {"tokenizer_config.json", R"({"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"})"},
               {"config.json", R"({"eos_token_id": 9})"}});
  const std::string key = "trainer.model_stage_factory.source_checkpoint=" + source;

  const TokenizerFiles files = files_of(job(text_data(source + "/tokenizer.json"), {key}));

  EXPECT_EQ(json::parse(files.at("generation_config.json")), (json{{"eos_token_id", {9, 2047}}}));
}

// Through a checkpoint, which has no folders, into an export.
TEST_F(TokenizerFilesOf, ChatTemplatesInTheirFolderComeBackThere) {
  const std::string own =
      folder("own", {{"tokenizer.json", vocabulary_}, {"preprocessor_config.json", "{}"}});
  disk_.make_directories(own + "/additional_chat_templates");
  write_text(disk_, own + "/additional_chat_templates/tool_use.jinja", "{{ tools }}");
  const std::string checkpoint = (folder_ / "save-1").string(), exported = folder("export", {});

  write_tokenizer_files(disk_, checkpoint, files_of(job(text_data(own + "/tokenizer.json"))));
  for (const DirectoryEntry& entry : disk_.list(checkpoint)) EXPECT_FALSE(entry.is_directory) << entry.name;
  add_tokenizer_files(disk_, exported, tokenizer_files_in(disk_, checkpoint));

  EXPECT_EQ(read_text(disk_, exported + "/additional_chat_templates/tool_use.jinja", 100), "{{ tools }}");
  EXPECT_EQ(read_text(disk_, exported + "/preprocessor_config.json", 100), "{}");
}

TEST_F(TokenizerFilesOf, WhatLiesBesideATokenizerGoesWithItAndKeepsItsWords) {
  const std::string own = folder("own", {{"tokenizer.json", vocabulary_},
                                         {"tokenizer_config.json", R"({"eos_token": "<|im_end|>", "x": 1})"},
                                         {"chat_template.jinja", "{{ messages }}"},
                                         {"notes.txt", "private"},
                                         {"generation_config.json", R"({"eos_token_id": 5, "top_p": 0.8})"}});

  const TokenizerFiles files =
      files_of(job(text_data(own + "/tokenizer.json", ", eos_token: \"<|endoftext|>\"")));

  EXPECT_EQ(files.at("chat_template.jinja"), "{{ messages }}");
  EXPECT_FALSE(files.contains("notes.txt"));
  EXPECT_EQ(json::parse(files.at("tokenizer_config.json")), (json{{"eos_token", "<|im_end|>"}, {"x", 1}}));
  EXPECT_EQ(json::parse(files.at("generation_config.json")),
            (json{{"eos_token_id", {5, 2047}}, {"top_p", 0.8}}));
}

TEST_F(TokenizerFilesOf, TokensTakeTheTokenizerOfTheFolderThatTheWeightsComeFrom) {
  const std::string source = folder("source", {{"tokenizer.json", vocabulary_},
                                               {"config.json", R"({"eos_token_id": 9, "bos_token_id": 8})"}});
  const std::string key = "trainer.model_stage_factory.source_checkpoint=" + source;

  const TokenizerFiles files = files_of(job("source: synthetic, vocab_size: 512", {key}));

  EXPECT_EQ(files.at("tokenizer.json"), vocabulary_);
  EXPECT_EQ(json::parse(files.at("generation_config.json")),
            (json{{"eos_token_id", 9}, {"bos_token_id", 8}}));
}

TEST_F(TokenizerFilesOf, AModelOfSentencePieceIsCarriedUnderItsName) {
  const std::string pieces = D9D_SOURCE_DIR "/tests/golden/tokenizer/piece_bpe.model";
  try {
    Tokenizer::from_file(pieces);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();  // built without the library
  }

  const TokenizerFiles files = files_of(job(text_data(pieces, ", eos_token: </s>")));

  EXPECT_THAT(files, ElementsAre(Key("generation_config.json"), Key("tokenizer.model"),
                                 Key("tokenizer_config.json")));
  EXPECT_EQ(files.at("tokenizer.model"), read_text(disk_, pieces, 1'000'000));
  EXPECT_EQ(json::parse(files.at("generation_config.json")), (json{{"eos_token_id", 2}}));
  EXPECT_FALSE(json::parse(files.at("tokenizer_config.json")).contains("tokenizer_class"))
      << "the general class reads tokenizer.json only";
}

// Through a checkpoint into an export, as `convert` copies them.
TEST_F(TokenizerFilesOf, WhatElseLiesInTheModelsFolderIsCarried) {
  const std::string source = folder("source", {{"config.json", "{}"},
                                               {"LICENSE", "free"},
                                               {"README.md", "# Model"},
                                               {"model.safetensors", "weights"},
                                               {"generation_config.json", R"({"top_p": 0.8})"},
                                               {"preprocessor_config.json", "{}"}});
  const std::string own = folder("own", {{"tokenizer.json", vocabulary_}, {"notes.txt", "private"}});
  const std::vector<std::string> key{"trainer.model_stage_factory.source_checkpoint=" + source};
  for (const std::string& data :
       {text_data(own + "/tokenizer.json"), std::string("source: synthetic, vocab_size: 512")}) {
    const std::string checkpoint = folder("save-1", {}), exported = folder("export", {});

    write_tokenizer_files(disk_, checkpoint, files_of(job(data, key)));
    add_tokenizer_files(disk_, exported, tokenizer_files_in(disk_, checkpoint));

    EXPECT_EQ(read_text(disk_, exported + "/LICENSE", 100), "free") << data;
    EXPECT_EQ(read_text(disk_, exported + "/README.md", 100), "# Model");
    EXPECT_EQ(json::parse(read_text(disk_, exported + "/generation_config.json", 1000))["top_p"], 0.8);
    EXPECT_EQ(read_text(disk_, exported + "/preprocessor_config.json", 100), "{}");
    for (const char* name : {"model.safetensors", "config.json", "notes.txt", "carried.LICENSE"})
      EXPECT_FALSE(disk_.exists(exported + "/" + name)) << name;
    disk_.remove_all(checkpoint);
    disk_.remove_all(exported);
  }
}

TEST_F(TokenizerFilesOf, TheTemplateOfAFileTakesThePlaceOfTheTokenizers) {
  const std::string own = folder("own", {{"tokenizer.json", vocabulary_},
                                         {"tokenizer_config.json", R"({"chat_template": "old", "x": 1})"},
                                         {"mine.jinja", "{{ messages }}"}});
  const std::string chat = "source: chat, files: [a], tokenizer: " + own + "/tokenizer.json";

  const TokenizerFiles files = files_of(job(chat + ", chat_template: " + own + "/mine.jinja"));

  EXPECT_EQ(files.at("chat_template.jinja"), "{{ messages }}");
  EXPECT_EQ(json::parse(files.at("tokenizer_config.json"))["x"], 1);
  EXPECT_FALSE(json::parse(files.at("tokenizer_config.json")).contains("chat_template"));
  EXPECT_EQ(json::parse(files_of(job(chat)).at("tokenizer_config.json"))["chat_template"], "old");
}

TEST_F(TokenizerFilesOf, NothingIsCarriedWhereNoTokenizerIsKnown) {
  EXPECT_THAT(files_of(job("source: synthetic, vocab_size: 512")), IsEmpty());
}

TEST_F(TokenizerFilesOf, WritingThemReplacesAnotherTokenizerAndNothingElse) {
  const std::string target =
      folder("target", {{"tokenizer.json", "old"}, {"merges.txt", "old"}, {"notes.txt", "mine"}});

  write_tokenizer_files(disk_, target, {});
  EXPECT_EQ(tokenizer_files_in(disk_, target).size(), 2u) << "no files: nothing is touched";
  write_tokenizer_files(disk_, target, {{"tokenizer.json", "new"}});

  EXPECT_EQ(tokenizer_files_in(disk_, target), (TokenizerFiles{{"tokenizer.json", "new"}}));
  EXPECT_EQ(read_text(disk_, target + "/notes.txt", 100), "mine");
}

}  // namespace
}  // namespace d9d
