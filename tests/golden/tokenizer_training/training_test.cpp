// Tokenizers trained here and by the `tokenizers` library on the same texts: the same file, byte for byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/tokenizer/train/trained_tokenizer.hpp"

namespace d9d {
namespace {

const std::string end_token = "<|endoftext|>";

std::string read(const std::string& name) {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/tokenizer_training/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// As CASES of make.py says it.
struct Case {
  std::string name;
  BpeTraining training;
};

void PrintTo(const Case& given, std::ostream* out) {
  *out << given.name;
}

class TokenizerTraining : public testing::TestWithParam<Case> {};

TEST_P(TokenizerTraining, GivesTheLibrarysFile) {
  const auto& [name, training] = GetParam();
  WordCounts words;
  words.add(read(name + ".txt"));

  const TrainedBpe trained = train_bpe(words, training);

  EXPECT_EQ(tokenizer_json(trained, training.special_tokens), read("expect." + name + ".json"));
}

TEST_P(TokenizerTraining, CountsTheTokensThatTheFileGives) {
  const auto& [name, training] = GetParam();
  const std::string text = read(name + ".txt");
  WordCounts words;
  words.add(text);

  const TrainedBpe trained = train_bpe(words, training);

  const auto tokenizer = Tokenizer::from_json(tokenizer_json(trained, {}), name);
  std::size_t tokens = 0;  // line by line, as words are counted
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    tokens += tokenizer.encode(line + (lines.eof() ? "" : "\n"), false).size();
  EXPECT_EQ(trained.num_tokens, tokens);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, TokenizerTraining,
    testing::Values(Case{"ascii", {480, 2, {end_token}}}, Case{"utf8", {520, 2, {end_token}}},
                    Case{"ties", {700, 1, {end_token}}}, Case{"often", {700, 2, {end_token}}},
                    Case{"repeats", {420, 0, {end_token}}}, Case{"digits", {460, 2, {}}},
                    Case{"spaces", {340, 2, {end_token, "<|im_start|>", "!", end_token, "<|im_end|>"}}},
                    Case{"bytes", {257, 2, {end_token}}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace d9d
