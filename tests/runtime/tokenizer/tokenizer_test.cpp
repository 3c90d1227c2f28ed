#include "runtime/tokenizer/tokenizer.hpp"

#include <gmock/gmock.h>

#include <random>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

const std::string tokenizer_folder = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/";

// A tokenizer.json of characters a, b, c with the merges ab and abc, plus what the caller adds.
std::string small_json(const std::string& members, const std::string& model = "") {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4},"merges":["a b",["ab","c"]])" +
         model + "}" + members + "}";
}

std::string tokenizer_error(const std::string& json) {
  return test::error_of([&] { Tokenizer::from_json(json, "t.json"); }, ErrorKind::input);
}

std::string random_text(std::mt19937& random) {
  std::string text;
  const int length = static_cast<int>(random() % 60);
  for (int i = 0; i < length; ++i) {
    char32_t value = random() % 4 == 0 ? random() % 0x110000 : random() % 0x250;
    if (value >= 0xD800 && value < 0xE000) value = ' ';
    append_utf8(text, value);
  }
  return text;
}

TEST(Tokenizer, AppliesMergesInTheOrderTheyWereLearnt) {
  const Tokenizer tokenizer = Tokenizer::from_json(small_json(""), "t.json");

  EXPECT_THAT(tokenizer.encode("abcab", false), ElementsAre(4, 3));
  EXPECT_THAT(tokenizer.encode("cba", false), ElementsAre(2, 1, 0));
  EXPECT_THAT(tokenizer.encode("", true), ElementsAre());
  EXPECT_EQ(tokenizer.vocab_size(), 5);
}

TEST(Tokenizer, LeavesOutCharactersItDoesNotKnowWhenThereIsNoUnknownToken) {
  const Tokenizer tokenizer = Tokenizer::from_json(small_json(""), "t.json");

  EXPECT_THAT(tokenizer.encode("a?b", false), ElementsAre(3));
}

TEST(Tokenizer, MergesLongWordsLikeShortOnes) {
  const Tokenizer tokenizer = Tokenizer::from_json(small_json(""), "t.json");
  std::string word;
  Ids expected;
  for (int i = 0; i < 500; ++i) {
    word += i % 3 == 0 ? "abc" : "ba";
    const Ids one = i % 3 == 0 ? Ids{4} : Ids{1, 0};
    // An a before a b would merge with it.
    if (!expected.empty() && expected.back() == 0 && one[0] == 1) {
      expected.back() = 3;
      expected.push_back(0);
    } else {
      expected.insert(expected.end(), one.begin(), one.end());
    }
  }

  EXPECT_EQ(tokenizer.encode(word, false), expected);
}

TEST(Tokenizer, DecodesWhatItEncodedByteForByte) {
  // No normalizer and a byte-level vocabulary: nothing may get lost.
  const Tokenizer gpt2 = Tokenizer::from_file(tokenizer_folder + "gpt2.json");
  std::mt19937 random(1);

  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random);
    const std::string expected = text.empty() || text.starts_with(' ') ? text : " " + text;
    EXPECT_EQ(gpt2.decode(gpt2.encode(text, false), false), expected);
  }
}

TEST(Tokenizer, GivesTheSameIdsWithAUsedScratchAsWithAFreshOne) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_folder + "qwen.json");
  const auto scratch = tokenizer.make_scratch();
  std::mt19937 random(2);

  for (int i = 0; i < 500; ++i) {
    const std::string text = random_text(random);
    Ids used;
    tokenizer.encode(text, false, *scratch, used);
    EXPECT_EQ(used, tokenizer.encode(text, false));
  }
}

TEST(Tokenizer, IsSharedBetweenThreads) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_folder + "qwen.json");
  const std::string text = "the actor sends <|im_end|> café to the stage 123\n";
  const Ids expected = tokenizer.encode(text, false);
  std::vector<int> wrong(4);
  test::in_threads(4, [&](int t) {
    const auto scratch = tokenizer.make_scratch();
    for (int i = 0; i < 200; ++i) {
      Ids ids;
      tokenizer.encode(text, false, *scratch, ids);
      wrong[static_cast<std::size_t>(t)] += ids != expected;
    }
  });

  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(Tokenizer, RefusesTheScratchOfAnotherTokenizer) {
  const Tokenizer one = Tokenizer::from_json(small_json(""), "t.json");
  const Tokenizer other = Tokenizer::from_json(small_json(""), "t.json");
  const auto scratch = other.make_scratch();
  Ids ids;

  EXPECT_THROW(one.encode("a", false, *scratch, ids), Error);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8AndNamesTheByte) {
  const Tokenizer tokenizer = Tokenizer::from_json(small_json(""), "t.json");

  EXPECT_THAT(test::error_of([&] { tokenizer.encode("ab\xFFz", false); }),
              HasSubstr("byte 2 of the text (0xFF) is not UTF-8"));
}

TEST(Tokenizer, FindsTokensByTextAndById) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      small_json(
          R"(,"added_tokens":[{"id":9,"content":"<s>","special":true},{"id":1,"content":"b","special":false}])"),
      "t.json");

  EXPECT_EQ(tokenizer.vocab_size(), 10);
  EXPECT_EQ(tokenizer.token_id("<s>"), 9);
  EXPECT_EQ(tokenizer.token_id("abc"), 4);
  EXPECT_EQ(tokenizer.token_id("zz"), std::nullopt);
  EXPECT_EQ(tokenizer.token_text(9), "<s>");
  EXPECT_EQ(tokenizer.token_text(7), std::nullopt);
  EXPECT_EQ(tokenizer.decode(Ids{0, 7, 9, 4, 99, -1}), "a abc");
  EXPECT_EQ(tokenizer.decode(Ids{0, 9}, false), "a <s>");
}

// "▁the" alone is "the", and a character of several bytes may begin in a prompt and end behind it.
TEST(Tokenizer, DecodesWhatGoesOnTogetherWithWhatIsBefore) {
  const Tokenizer llama = Tokenizer::from_file(tokenizer_folder + "llama.json");
  const Tokenizer gpt2 = Tokenizer::from_file(tokenizer_folder + "gpt2.json");
  const auto text = llama.encode("the actor and the stage", false);
  const auto letters = gpt2.encode("a\u65E5b", false);
  ASSERT_GE(letters.size(), 4u) << "a byte is a token";

  for (std::size_t seam = 1; seam < text.size(); ++seam) {
    const auto before = std::span(text).first(seam), behind = std::span(text).subspan(seam);
    EXPECT_EQ(llama.decode(before) + llama.decode_behind(before, behind), "the actor and the stage") << seam;
  }
  EXPECT_EQ(gpt2.decode_behind(std::span(letters).first(2), std::span(letters).subspan(2)), "\u65E5b");
  EXPECT_EQ(gpt2.decode_behind({}, letters), " a\u65E5b") << "which puts a blank in front";
}

TEST(Tokenizer, IsFoundInItsFolderAndOtherKindsAreRefusedWithARemedy) {
  const Folder folder;
  const auto error = [&] {
    return test::error_of([&] { Tokenizer::from_file(folder.path("")); }, ErrorKind::input);
  };

  EXPECT_THAT(error(), HasSubstr("has no tokenizer.json and no tokenizer.model"));
  const std::string other = folder.write("tiktoken.model", "IQ== 0\n");
  EXPECT_THAT(error(),
              HasSubstr("only tiktoken.model, which is not read here; make a tokenizer.json of it once"));
  EXPECT_THAT(test::error_of([&] { Tokenizer::from_file(other); }, ErrorKind::input),
              HasSubstr("make a tokenizer.json of it once"));
  folder.write("tokenizer.json", small_json("", ""));
  EXPECT_THAT(Tokenizer::from_file(folder.path("")).encode("abcab", false), ElementsAre(4, 3));
}

TEST(Tokenizer, RefusesByNameWhatItCannotDo) {
  const std::vector<std::pair<std::string, const char*>> cases{
      {small_json(R"(,"normalizer":{"type":"ByteLevel"})"),
       "normalizer: the normalizer ByteLevel is not supported"},
      {small_json(R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"UnicodeScripts"}]})"),
       "pre_tokenizer.pretokenizers[0]: the pre-tokenizer UnicodeScripts"},
      {small_json(
           R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})"),
       "Digits after ByteLevel"},
      {small_json(R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Sideways"})"),
       "Sideways"},
      {small_json(R"(,"post_processor":{"type":"Other"})"), "the post-processor Other"},
      {small_json(R"(,"decoder":{"type":"CTC"})"), "the decoder CTC"},
      {small_json("", R"(,"dropout":0.1)"), "model: dropout is not supported"},
      {small_json("", R"(,"byte_fallback":true)"), "the vocabulary lacks some bytes"},
      {R"({"model":{"type":"Morse","vocab":{}}})", "the model Morse is not supported"},
  };

  for (const auto& [json, expected] : cases) EXPECT_THAT(tokenizer_error(json), HasSubstr(expected));
}

TEST(Tokenizer, RefusesSectionsNestedWithoutEnd) {
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += R"({"type":"Sequence","normalizers":[)";
  for (int i = 0; i < 100000; ++i) nested += "]}";

  EXPECT_THAT(tokenizer_error(small_json(",\"normalizer\":" + nested)), HasSubstr("nested too deep"));
}

TEST(Tokenizer, RefusesADamagedFileAndSaysWhere) {
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":["a"],"merges":[]}})"),
              HasSubstr("model.vocab is not an object"));
  EXPECT_THAT(tokenizer_error("{"), HasSubstr("t.json is not a JSON object"));
  EXPECT_THAT(tokenizer_error("{}"), HasSubstr("t.json: model"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":-1},"merges":[]}})"),
              HasSubstr("model.vocab: the id of \"a\" is -1"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":99999999999},"merges":[]}})"),
              HasSubstr("99999999999"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":0},"merges":["a"]}})"),
              HasSubstr("model.merges[0] is \"a\""));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":0},"merges":["a b"]}})"),
              HasSubstr("\"b\" is not in the vocabulary"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":0},"merges":["a a"]}})"),
              HasSubstr("\"aa\" is not in the vocabulary"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":0},"merges":[[1,2]]}})"),
              HasSubstr("model.merges[0] is [1,2]"));
  EXPECT_THAT(tokenizer_error(R"({"model":{"vocab":{"a":0},"merges":[],"unk_token":"u"}})"),
              HasSubstr("model.unk_token \"u\""));
  EXPECT_THAT(tokenizer_error(small_json(R"(,"added_tokens":[{"id":7,"content":"b"}])")),
              HasSubstr("has id 7, but model.vocab gives it 1"));
  EXPECT_THAT(tokenizer_error(small_json(R"(,"added_tokens":[{"id":99999999,"content":"x"}])")),
              HasSubstr("added_tokens[0].id"));
  EXPECT_THAT(tokenizer_error(small_json(
                  R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"})")),
              HasSubstr("regex \"(a\" is not understood"));
}

}  // namespace
}  // namespace d9d
