#include "actors/notes/owed_work.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace d9d {
namespace {

RequestedTexts asked_by(std::uint64_t actor, std::int64_t token) {
  RequestedTexts texts{.number = 7, .asker = {Role::user, actor}, .request = {.prompts = {{token, 2}, {3}}}};
  texts.request.options.max_new_tokens = 5;
  texts.request.options.temperature = 0.1;
  texts.request.options.top_p = 0.9;
  texts.request.options.seed = 11;
  texts.request.options.ends = {0};
  return texts;
}

TEST(OwedWork, ComesBackAsItWasWrittenAlsoAmongOtherActors) {
  const OwedWork owed{.evaluation = true, .texts = {asked_by(2, 8), asked_by(1, 9)}, .texts_due = 1};
  const nlohmann::json json = to_json(owed, {"a", "b", "a"});

  const OwedWork back = owed_work_of(nlohmann::json::parse(json.dump()), {"a", "new", "a", "b"});

  EXPECT_TRUE(back.evaluation);
  EXPECT_EQ(back.texts_due, 1U);
  ASSERT_EQ(back.texts.size(), 2U);
  EXPECT_EQ(back.texts[0].asker, (ActorId{Role::user, 2}));
  EXPECT_EQ(back.texts[1].asker, (ActorId{Role::user, 3}));
  EXPECT_EQ(back.texts[0].request.prompts, owed.texts[0].request.prompts);
  const GenerateOptions& options = back.texts[0].request.options;
  EXPECT_EQ(options.max_new_tokens, 5);
  EXPECT_EQ(options.temperature, 0.1);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.seed, 11U);
  EXPECT_EQ(options.ends, (std::vector<std::int64_t>{0}));
}

TEST(OwedWork, OfAnActorThatIsNoLongerThereIsLeftOut) {
  const OwedWork owed{.texts = {asked_by(0, 8), asked_by(1, 9)}, .texts_due = 2};

  const OwedWork back = owed_work_of(to_json(owed, {"a", "b"}), {"b"});

  ASSERT_EQ(back.texts.size(), 1U);
  EXPECT_EQ(back.texts_due, 1U);
  EXPECT_EQ(back.texts[0].request.prompts[0][0], 9);
}

TEST(OwedWork, IsNothingInACheckpointWithoutTheWord) {
  EXPECT_TRUE(to_json(OwedWork{}, {}).empty());
  const OwedWork none = owed_work_of(nlohmann::json(), {});
  EXPECT_FALSE(none.evaluation);
  EXPECT_TRUE(none.texts.empty());
}

}  // namespace
}  // namespace d9d
