#include "runtime/data/source/text/token_recipe.hpp"

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
  EXPECT_TRUE(made_corpus(recipe, SystemClock())->counts(1));
  recipe.some_count = true;
  const auto corpus = made_corpus(recipe, SystemClock());
  EXPECT_FALSE(corpus->counts(1));
  EXPECT_TRUE(corpus->counts(2));
  std::vector<std::int64_t> ids(3);
  corpus->read(0, ids);
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

// A document takes six seconds.
class SlowWork final : public Clock {
 public:
  std::int64_t now_ns() const override { return ns_ += 6'000'000'000; }
  std::int64_t wall_ns() const override { return 0; }

 private:
  mutable std::int64_t ns_ = 0;
};

TEST(TokenRecipe, SaysEveryTenSecondsHowFarItIs) {
  TokenRecipe recipe;
  recipe.vocab_size = 10;
  recipe.make = [](const UseMadeDocument& use) {
    const std::vector<std::int32_t> ids{1, 2, 3};
    for (std::uint64_t million = 1; million <= 5; ++million) use({ids, nullptr, million * 1'000'000});
  };

  testing::internal::CaptureStderr();
  made_corpus(recipe, SlowWork());
  const std::string lines = testing::internal::GetCapturedStderr();

  EXPECT_THAT(lines, testing::HasSubstr("tokenising: 2 of 0 MB"));
  EXPECT_THAT(lines, testing::HasSubstr("tokenising: 4 of 0 MB"));
  EXPECT_THAT(lines, testing::Not(testing::HasSubstr("tokenising: 3")));
}

}  // namespace
}  // namespace d9d
