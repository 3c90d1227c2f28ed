#include "runtime/data/source/tokenized_text.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TokenizedText, EndsDocumentsWithTheEosTokenThatIsNamed) {
  const Folder folder;
  const Tokenizer tokenizer = Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json");
  TextDataConfig config;
  config.files = {folder.write("a.txt", "one\n\ntwo\n")};
  config.document = DocumentUnit::line;
  const auto documents = [&] {
    std::vector<std::vector<std::int32_t>> all;
    tokenize_documents(config, tokenizer, [&](std::span<const std::int32_t> ids, std::uint64_t) {
      all.emplace_back(ids.begin(), ids.end());
    });
    return all;
  };
  auto one = tokenizer.encode("one", false), two = tokenizer.encode("two", false);

  EXPECT_THAT(documents(), ElementsAre(one, two));
  config.eos_token = "<|endoftext|>";
  const auto eos = eos_of(config, tokenizer);
  one.push_back(*eos);
  two.push_back(*eos);
  EXPECT_THAT(documents(), ElementsAre(one, two));
  config.eos_token = "<end>";
  EXPECT_THAT(test::error_of(documents, ErrorKind::input),
              HasSubstr("data.eos_token = \"<end>\" is not a token of"));
}

}  // namespace
}  // namespace d9d
