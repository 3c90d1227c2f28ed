#include "runtime/tokenizer/model/byte_trie.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace d9d {
namespace {

using Found = std::vector<std::pair<std::size_t, std::int32_t>>;

Found prefixes_in(const ByteTrie& trie, std::string_view text) {
  Found found;
  trie.for_each_prefix(text,
                       [&](std::size_t length, std::int32_t value) { found.emplace_back(length, value); });
  return found;
}

TEST(ByteTrie, FindsAllThatATextBeginsWithFromTheShortest) {
  const ByteTrie trie({{"ab", 7}, {"a", 3}, {"abcd", 5}, {"b", 1}, {"", 9}});

  EXPECT_EQ(prefixes_in(trie, "abcde"), (Found{{1, 3}, {2, 7}, {4, 5}}));
  EXPECT_EQ(prefixes_in(trie, "abc"), (Found{{1, 3}, {2, 7}}));
  EXPECT_EQ(prefixes_in(trie, "c"), Found());
  EXPECT_EQ(prefixes_in(trie, ""), Found());
  EXPECT_EQ(prefixes_in(ByteTrie(), "a"), Found());
}

TEST(ByteTrie, TakesTheHigherNumberOfATextThatIsThereTwice) {
  EXPECT_EQ(prefixes_in(ByteTrie({{"x", 4}, {"x", 2}}), "x"), (Found{{1, 4}}));
}

TEST(ByteTrie, FindsWhatALookUpOfEveryPrefixFinds) {
  std::mt19937 random(3);
  const auto text = [&](std::size_t most) {
    std::string out(random() % most, ' ');
    for (char& byte : out)
      byte = static_cast<char>(random() % 3 == 0 ? 0xF0 + random() % 4 : 'a' + random() % 3);
    return out;
  };
  std::map<std::string, std::int32_t> entries;
  for (std::int32_t i = 0; i < 300; ++i) entries[text(7)] = i;
  const ByteTrie trie(std::vector<ByteTrie::Entry>(entries.begin(), entries.end()));

  for (int i = 0; i < 500; ++i) {
    const std::string word = text(12);
    Found expected;
    for (std::size_t length = 1; length <= word.size(); ++length) {
      const auto entry = entries.find(word.substr(0, length));
      if (entry != entries.end()) expected.emplace_back(length, entry->second);
    }
    EXPECT_EQ(prefixes_in(trie, word), expected) << word;
  }
}

}  // namespace
}  // namespace d9d
