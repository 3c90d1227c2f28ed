#include "runtime/family/position_limit.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

Qwen3Config config_with(RopeOptions::Type type, double factor, std::int64_t original) {
  Qwen3Config config;
  config.max_position_embeddings = 100;
  config.rope.type = type;
  config.rope.factor = factor;
  config.rope.original_max_position_embeddings = original;
  return config;
}

TEST(PositionLimit, IsWhatTheModelWasMadeForAndWhatRopeStretchesItTo) {
  using Type = RopeOptions::Type;

  EXPECT_EQ(position_limit(config_with(Type::plain, 4, 0)), 100);
  EXPECT_EQ(position_limit(config_with(Type::dynamic, 4, 100)), 400);
  EXPECT_EQ(position_limit(config_with(Type::linear, 4, 0)), 400);
  EXPECT_EQ(position_limit(config_with(Type::yarn, 4, 100)), 400) << "Qwen3 keeps the pretrained length";
  EXPECT_EQ(position_limit(config_with(Type::yarn, 4, 25)), 100) << "others write the stretched one";
  EXPECT_EQ(position_limit(config_with(Type::llama3, 8, 50)), 400);
  EXPECT_EQ(position_limit(config_with(Type::longrope, 4, 25)), 100);
  EXPECT_GT(position_limit(config_with(Type::linear, 1e300, 0)), 100) << "and no overflow";
}

TEST(PositionLimit, RefusesALongerSequenceWithBothNumbers) {
  const Qwen3Config config = config_with(RopeOptions::Type::plain, 1, 0);

  EXPECT_NO_THROW(require_positions(config, 100, "the text", "shorten it"));
  EXPECT_THAT(
      test::error_of([&] { require_positions(config, 101, "the text", "shorten it"); }, ErrorKind::input),
      testing::HasSubstr("the text has 101 tokens, but the model has positions for 100"));
}

}  // namespace
}  // namespace d9d
