#include "runtime/tokenizer/codec/token_settings.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/base/file/digest.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr const char* bpe_json =
    R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4},"merges":["a b",["ab","c"]]}})";

TEST(TokenSettings, HasAnotherDigestWhereTokensBesideItDiffer) {
  const Folder folder;
  const std::string file = folder.write("tokenizer.json", bpe_json);
  const std::string alone = digest_of_tokenizer(file);

  EXPECT_EQ(alone, sha256_of_file(file)) << "caches of before are found";
  folder.write("tokenizer_config.json", R"({"model_max_length": 8})");
  EXPECT_EQ(digest_of_tokenizer(file), alone);
  folder.write("added_tokens.json", R"({"<x>": 5})");
  EXPECT_NE(digest_of_tokenizer(file), alone);
  EXPECT_EQ(Tokenizer::from_file(file).encode("a<x>b", false), (Ids{0, 5, 1}));
}

// Neither tokenizers' reader of tokenizer.json nor Python's json takes it.
TEST(TokenSettings, RefusesAByteOrderMarkAsTransformersDoes) {
  const Folder folder;
  const std::string file = folder.write("tokenizer.json", std::string("\xEF\xBB\xBF") + bpe_json);
  EXPECT_THAT(test::error_of([&] { Tokenizer::from_file(file); }, ErrorKind::input),
              HasSubstr("tokenizer.json begins with a byte order mark"));

  folder.write("tokenizer.json", bpe_json);
  folder.write("tokenizer_config.json", "\xEF\xBB\xBF{}");
  EXPECT_THAT(test::error_of([&] { Tokenizer::from_file(file); }, ErrorKind::input),
              HasSubstr("tokenizer_config.json begins with a byte order mark"));
}

TEST(TokenSettings, RefusesFilesBesideItThatContradictIt) {
  const Folder folder;
  const std::string file = folder.write("tokenizer.json", bpe_json);
  const auto error = [&](const char* name, const char* text) {
    folder.write("added_tokens.json", "{}");
    folder.write("tokenizer_config.json", "{}");
    folder.write(name, text);
    return test::error_of([&] { Tokenizer::from_file(file); }, ErrorKind::input);
  };

  EXPECT_THAT(error("added_tokens.json", R"({"a": 7})"),
              HasSubstr("added_tokens.json gives the token \"a\" the id 7, and the tokenizer's file 0"));
  EXPECT_THAT(error("added_tokens.json", R"({"<x>": 1})"), HasSubstr("the id 1, which is that of \"b\""));
  EXPECT_THAT(error("added_tokens.json", "[]"), HasSubstr("added_tokens.json is not a JSON object; mend"));
  EXPECT_THAT(error("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "y"}}})"),
              HasSubstr("added_tokens_decoder.x is no id"));
  EXPECT_THAT(error("tokenizer_config.json", R"({"add_bos_token": "yes"})"),
              HasSubstr("add_bos_token is \"yes\", expected true or false"));
}

}  // namespace
}  // namespace d9d
