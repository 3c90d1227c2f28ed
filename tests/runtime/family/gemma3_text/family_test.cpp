#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/families.hpp"
#include "runtime/family/family.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

TEST(Gemma3TextFamily, NeedsTheWidthOfAHead) {
  EXPECT_THAT(find_family("gemma3_text")->required_keys({}), testing::Contains("head_dim"));
}

TEST(Gemma3TextFamily, ForgetsTheLayersOfAFolderWhereTheJobGivesAPattern) {
  const json folder = {{"layer_types", {"full_attention"}}};
  const auto left = [&](const json& keys) {
    json base = folder;
    find_family("gemma3_text")->drop_replaced(base, keys);
    return base;
  };

  EXPECT_EQ(left({{"sliding_window_pattern", 2}}), json::object());
  EXPECT_EQ(left({{"sliding_window_pattern", 2}, {"layer_types", {"sliding_attention"}}}), folder);
  EXPECT_EQ(left(json::object()), folder);
}

}  // namespace
}  // namespace d9d::test
