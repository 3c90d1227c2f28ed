#include "runtime/peft/module_pattern.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

TEST(ModulePattern, MatchesWholePaths) {
  const ModulePattern pattern(R"(.*\.(q|v)_proj)");

  EXPECT_TRUE(pattern.matches("model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(pattern.matches("model.layers.0.self_attn.q_proj.lora_A"));
  EXPECT_FALSE(pattern.matches("q_proj"));
}

TEST(ModulePattern, NamesAtTheEndOfAPathAreWholeOnes) {
  EXPECT_TRUE(ends_with_names("layers.0.mlp.up_proj", "mlp.up_proj"));
  EXPECT_TRUE(ends_with_names("up_proj", "up_proj"));
  EXPECT_FALSE(ends_with_names("layers.0.mlp.gate_up_proj", "up_proj"));
  EXPECT_FALSE(ends_with_names("up_proj", "mlp.up_proj"));
}

TEST(ModulePattern, RefusesWhatIsNoExpression) {
  EXPECT_THAT(error_of([&] { ModulePattern("(q_proj"); }, ErrorKind::input),
              testing::HasSubstr("\"(q_proj\" is not a regular expression"));
}

}  // namespace
}  // namespace d9d::test
