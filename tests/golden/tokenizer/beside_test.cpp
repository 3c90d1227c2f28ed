// Tokens that stand beside the tokenizer's file, as transformers reads them (expect.beside.json).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using Ids = std::vector<std::int32_t>;

const std::string folder_of_bases = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/";

nlohmann::json cases_beside() {
  std::ifstream file(folder_of_bases + "expect.beside.json");
  return nlohmann::json::parse(file);
}

// A folder with the files of a case.
class Folder {
 public:
  explicit Folder(const nlohmann::json& expected) {
    const auto base = expected["base"].get<std::string>();
    const std::string ending = base.substr(base.rfind('.'));
    folder_.write("tokenizer" + ending, test::text_of_file(folder_of_bases + base));
    for (const auto& [name, content] : expected["files"].items()) folder_.write(name, content.dump());
  }
  Tokenizer tokenizer() const { return Tokenizer::from_file(folder_.path()); }

 private:
  test::TemporaryFolder folder_;
};

TEST(TokensBesideGolden, AreOneIdWhereTransformersMakesOne) {
  for (const auto& expected : cases_beside()) {
    const Tokenizer tokenizer = Folder(expected).tokenizer();
    EXPECT_EQ(tokenizer.vocab_size(), expected["vocab_size"].get<std::int32_t>()) << expected["files"];
    for (const auto& text : expected["texts"]) {
      const auto given = text["text"].get<std::string>();
      EXPECT_EQ(tokenizer.encode(given, false), text["ids"].get<Ids>()) << given << expected["files"];
      EXPECT_EQ(tokenizer.encode_with_spans(given, false).ids, text["ids"].get<Ids>()) << given;
    }
  }
}

TEST(TokensBesideGolden, StandAroundAPromptAsTransformersPutsThem) {
  for (const auto& expected : cases_beside()) {
    const Tokenizer tokenizer = Folder(expected).tokenizer();
    const auto scratch = tokenizer.make_scratch();
    for (const auto& text : expected["texts"]) {
      const auto given = text["text"].get<std::string>();
      const auto special = text["ids_special"].get<Ids>();
      EXPECT_EQ(tokenizer.encode(given, true), special) << given << expected["files"];
      EXPECT_EQ(tokenizer.encode_with_spans(given, true).ids, special) << given;
      // Whoever writes the begin of text gets one of it.
      Ids prompt;
      tokenizer.encode_prompt(given, *scratch, prompt);
      const bool is_double = special.size() >= 2 && special[0] == special[1];
      EXPECT_EQ(prompt, is_double ? Ids(special.begin() + 1, special.end()) : special) << given;
    }
  }
}

TEST(TokensBesideGolden, AreLeftOutOfTextsAsTransformersLeavesThemOut) {
  for (const auto& expected : cases_beside()) {
    const Tokenizer tokenizer = Folder(expected).tokenizer();
    for (const auto& text : expected["texts"]) {
      if (!text.contains("decoded")) continue;
      EXPECT_EQ(tokenizer.decode(text["ids_special"].get<Ids>()), text["decoded"].get<std::string>())
          << text["text"] << expected["files"];
    }
  }
}

}  // namespace
}  // namespace d9d
