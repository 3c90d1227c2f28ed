#include "runtime/peft/peft_config.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

PeftConfig decoded(const std::string& text) {
  config::Problems problems;
  PeftConfig config = config::decode<PeftConfig>(config::parse(text, "peft.yaml"), problems);
  problems.throw_if_any();
  return config;
}

std::string error_of(const std::string& text) {
  return test::error_of<std::exception>([&] { decoded(text); });
}

TEST(PeftConfig, TakesTheKeysOfTheOriginal) {
  const auto config = std::get<LoraConfig>(
      decoded("{kind: lora, module_name_pattern: '.*q_proj', params: {r: 16, alpha: 32, dropout: 0.0}}"));

  EXPECT_EQ(config.module_name_pattern, ".*q_proj");
  EXPECT_EQ(config.params.r, 16);
  EXPECT_EQ(config.params.alpha, 32);
  EXPECT_FALSE(config.from);
}

TEST(PeftConfig, StacksMayHoldStacksAndAreWrittenBack) {
  const std::string text =
      "{kind: stack, methods: [{kind: stack, methods: [{kind: freeze, module_name_pattern: a}]}, "
      "{kind: full_tune, module_name_pattern: b}]}";

  const PeftConfig config = decoded(text);

  EXPECT_EQ(methods_of(config).size(), 2U);
  EXPECT_EQ(config::encode(decoded(config::encode(config).dump())), config::encode(config));
}

TEST(PeftConfig, KeepsTheKeysOfAPluginsMethod) {
  const auto config = std::get<OwnPeftConfig>(decoded("{kind: ia3, module_name_pattern: a, depth: 2}"));

  EXPECT_EQ(config.name, "ia3");
  EXPECT_EQ(config::encode(PeftConfig(config)).dump(),
            R"({"kind":"ia3","depth":2,"module_name_pattern":"a"})");
}

TEST(PeftConfig, RefusesWhatCannotBe) {
  const std::string lora = "{kind: lora, module_name_pattern: a, params: ";

  EXPECT_THAT(error_of(lora + "{r: 0, alpha: 1}}"), testing::HasSubstr("params.r"));
  EXPECT_THAT(error_of(lora + "{r: 1, alpha: 1, dropout: 1}}"), testing::HasSubstr("params.dropout"));
  EXPECT_THAT(error_of("{module_name_pattern: a}"), testing::HasSubstr("kind"));
  EXPECT_THAT(error_of("{kind: stack, methods: [{kind: freeze}]}"), testing::HasSubstr("methods.0"));
}

}  // namespace
}  // namespace d9d::test
