#include "runtime/tokenizer/model/word_cache.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

std::vector<std::int32_t> ids_of(const WordCache& cache, const std::string& word) {
  const auto found = cache.find(word);
  return found ? std::vector<std::int32_t>(found->begin(), found->end()) : std::vector<std::int32_t>{-1};
}

TEST(WordCache, RemembersManyWordsAndMixesNoneUp) {
  WordCache cache(4096);

  for (std::int32_t i = 0; i < 4096; ++i)
    cache.put("w" + std::to_string(i), std::vector<std::int32_t>{i, i + 1});

  for (std::int32_t i = 0; i < 4096; ++i) {
    ASSERT_EQ(ids_of(cache, "w" + std::to_string(i)), (std::vector<std::int32_t>{i, i + 1}));
  }
  EXPECT_FALSE(cache.find("w4096"));
}

TEST(WordCache, ForgetsEverythingWhenItIsFull) {
  WordCache cache(2);
  cache.put("a", std::vector<std::int32_t>{1});
  cache.put("b", std::vector<std::int32_t>{2});

  cache.put("c", std::vector<std::int32_t>{3});

  EXPECT_FALSE(cache.find("a"));
  EXPECT_EQ(ids_of(cache, "c"), (std::vector<std::int32_t>{3}));
}

TEST(WordCache, KeepsWordsWithoutIdsAndNoLongWords) {
  WordCache cache;
  cache.put("nothing", {});
  cache.put(std::string(WordCache::word_bytes_max + 1, 'x'), std::vector<std::int32_t>{1});

  EXPECT_EQ(ids_of(cache, "nothing"), std::vector<std::int32_t>{});
  EXPECT_FALSE(cache.find(std::string(WordCache::word_bytes_max + 1, 'x')));
}

}  // namespace
}  // namespace d9d
