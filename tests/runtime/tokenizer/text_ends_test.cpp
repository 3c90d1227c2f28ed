#include "runtime/tokenizer/text_ends.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TokensAround around(const std::string& name) {
  return tokens_around_text(Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/" + name + ".json"));
}

// As `tokenizers` 0.22 writes encode("a").tokens beside encode("a", add_special_tokens=False).tokens.
TEST(TextEnds, KnowWhatIsPutAroundAPrompt) {
  EXPECT_THAT(around("llama").before, ElementsAre("<s>"));
  EXPECT_THAT(around("llama").after, IsEmpty());
  EXPECT_THAT(around("roberta").before, ElementsAre("<s>"));
  EXPECT_THAT(around("roberta").after, ElementsAre("</s>"));
  EXPECT_THAT(around("bert").before, ElementsAre("[CLS]"));
  EXPECT_THAT(around("bert").after, ElementsAre("[SEP]"));
  EXPECT_THAT(around("clip").before, ElementsAre("<|startoftext|>"));
  EXPECT_THAT(around("gpt2").before, IsEmpty());
  EXPECT_THAT(around("qwen").before, IsEmpty());
}

TEST(TextEnds, FindTheEndThatStandsBesideTheTokenizer) {
  const Folder folder;
  const std::string file =
      folder.write("tokenizer.json", R"({"model":{"type":"BPE","vocab":{"a":0,"</s>":1},"merges":[]}})");
  EXPECT_EQ(eos_id_of(Tokenizer::from_file(file), file), std::nullopt);

  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  EXPECT_EQ(eos_id_of(Tokenizer::from_file(file), file), 1);
}

}  // namespace
}  // namespace d9d
