#include "runtime/state/convert/conversion_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

class ConversionRulesFile : public testing::Test {
 protected:
  ConversionRules read(const std::string& text) {
    std::ofstream(file_) << text;
    return read_conversion_rules(file_);
  }
  std::string error(const std::string& text) {
    return test::error_of([&] { read(text); });
  }

  const test::Scratch scratch_;
  const std::string file_ = scratch_ / "rules.yaml";
};

TEST_F(ConversionRulesFile, IsYamlOrJson) {
  const auto rules = read(
      "dtype: bfloat16\n"
      "rules:\n"
      "  - {do: rename, from: \"a.{x}\", to: \"b.{x}\"}\n"
      "  - {do: chunk, from: qkv, to: [q, k, v], dim: -1}\n"
      "  - {do: transpose, from: \"*.w\", dims: [0, 1]}\n");
  const auto json = read(R"({"rules": [{"do": "cast", "from": "*", "dtype": "float16"}]})");

  EXPECT_EQ(rules.dtype, Dtype::bfloat16);
  ASSERT_EQ(rules.rules.size(), 3U);
  EXPECT_EQ(std::get<RenameRule>(rules.rules[0]).to, "b.{x}");
  EXPECT_EQ(std::get<ChunkRule>(rules.rules[1]).to.size(), 3U);
  EXPECT_EQ(std::get<ChunkRule>(rules.rules[1]).dim, -1);
  EXPECT_EQ(std::get<TransposeRule>(rules.rules[2]).dims[1], 1);
  EXPECT_EQ(std::get<CastRule>(json.rules.at(0)).dtype, Dtype::float16);
  EXPECT_FALSE(json.dtype);
}

TEST_F(ConversionRulesFile, NamesKeyAndPlaceOfAMistake) {
  EXPECT_THAT(error("rules:\n  - {do: renam, from: a, to: b}\n"),
              testing::AllOf(HasSubstr("rules.yaml:2:"), HasSubstr("rename")));
  EXPECT_THAT(error("rules:\n  - {do: rename, from: a, too: b}\n"), HasSubstr("did you mean \"to\"?"));
  EXPECT_THAT(error("rules:\n  - {do: stack, from: a, to: b}\n"), HasSubstr("rules.0.dim"));
  EXPECT_THAT(error("rules:\n  - {do: transpose, from: a, dims: [0]}\n"), HasSubstr("rules.0.dims"));
  EXPECT_THAT(error("dtype: int7\n"), HasSubstr("bfloat16"));
  EXPECT_THAT(test::error_of([] { read_conversion_rules("nowhere.yaml"); }), HasSubstr("nowhere.yaml"));
}

}  // namespace
}  // namespace d9d
