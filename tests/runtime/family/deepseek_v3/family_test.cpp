#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/family/deepseek_v3/config.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d::test {
namespace {

using testing::Contains;

// A job that names no latent of queries and no groups has none, whatever the published model has.
TEST(DeepseekV3Family, GivesAJobsOwnModelPlainQueriesAndOneGroup) {
  nlohmann::json keys = {{"model_type", "deepseek_v3"},
                         {"num_hidden_layers", 4},
                         {"n_routed_experts", 5},
                         {"num_experts_per_tok", 2}};
  find_family("deepseek_v3")->add_defaults(keys);
  const std::string where = "job";

  const auto model = find_family("deepseek_v3")->read(JsonReader(keys, where));

  const auto& config = dynamic_cast<const DeepseekV3Config&>(*model);
  EXPECT_EQ(config.q_lora_rank, 0);
  EXPECT_EQ(config.n_group, 1);
  EXPECT_EQ(config.moe().top_k, 2);
}

TEST(DeepseekV3Family, AsksForTheSizesThatHaveNoSensibleDefault) {
  const auto required = find_family("deepseek_v3")->required_keys(nlohmann::json::object());

  EXPECT_THAT(required, Contains("kv_lora_rank"));
  EXPECT_THAT(required, Contains("n_routed_experts"));
}

}  // namespace
}  // namespace d9d::test
