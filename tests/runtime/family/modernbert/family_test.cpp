#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/families.hpp"
#include "runtime/family/family.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

TEST(ModernBertFamily, NeedsNoNumberOfKeyHeads) {
  EXPECT_THAT(find_family("modernbert")->required_keys({}),
              testing::Not(testing::Contains("num_key_value_heads")));
}

TEST(ModernBertFamily, ForgetsTheLayersOfAFolderWhereTheJobGivesAPattern) {
  const json folder = {{"layer_types", {"full_attention"}}};
  const auto left = [&](const json& keys) {
    json base = folder;
    find_family("modernbert")->drop_replaced(base, keys);
    return base;
  };

  EXPECT_EQ(left({{"global_attn_every_n_layers", 2}}), json::object());
  EXPECT_EQ(left({{"global_attn_every_n_layers", 2}, {"layer_types", {"sliding_attention"}}}), folder);
  EXPECT_EQ(left(json::object()), folder);
}

TEST(ModernBertFamily, TakesTheThetasOfTheJobBeforeThoseOfAFolder) {
  json base = {{"rope_theta", 160000}, {"rope_local_base_freq", 10000}};

  find_family("modernbert")->drop_replaced(base, {{"global_rope_theta", 5}, {"local_rope_theta", 6}});

  EXPECT_EQ(base, json::object());
}

}  // namespace
}  // namespace d9d::test
