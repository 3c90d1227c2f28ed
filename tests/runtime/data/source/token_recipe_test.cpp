#include "runtime/data/source/token_recipe.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(TokenRecipe, BecomesACorpusInMemoryWhereThereIsNoCache) {
  TokenRecipe recipe;
  recipe.vocab_size = 10;
  recipe.make = [](const UseMadeDocument& use) {
    const std::vector<std::int32_t> ids{1, 2, 3};
    const std::vector<bool> counted{true, false, true};
    use({ids, &counted, 3});
  };
  EXPECT_TRUE(corpus_of(recipe)->counts(1));
  recipe.some_count = true;
  const auto corpus = corpus_of(recipe);
  EXPECT_FALSE(corpus->counts(1));
  EXPECT_TRUE(corpus->counts(2));
  std::vector<std::int64_t> ids(3);
  corpus->read(0, ids);
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace d9d
