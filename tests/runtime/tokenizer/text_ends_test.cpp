#include "runtime/tokenizer/text_ends.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> begin_tokens_of_golden(const std::string& name) {
  return begin_tokens_of(Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/" + name + ".json"));
}

// As `tokenizers` 0.22 writes encode("a").tokens beside encode("a", add_special_tokens=False).tokens.
TEST(TextEnds, KnowWhatIsPutBeforeAPrompt) {
  EXPECT_THAT(begin_tokens_of_golden("llama"), ElementsAre("<s>"));
  EXPECT_THAT(begin_tokens_of_golden("roberta"), ElementsAre("<s>"));
  EXPECT_THAT(begin_tokens_of_golden("bert"), ElementsAre("[CLS]"));
  EXPECT_THAT(begin_tokens_of_golden("clip"), ElementsAre("<|startoftext|>"));
  EXPECT_THAT(begin_tokens_of_golden("gpt2"), IsEmpty());
  EXPECT_THAT(begin_tokens_of_golden("qwen"), IsEmpty());
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
