// Families with experts: their layers, config.json and back, the names of their tensors in a folder.
#include "runtime/family/sparse_decoder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/config_document.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

TEST(SparseDecoder, KnowWhichLayersHaveExperts) {
  const auto model = small_sparse("qwen2_moe").parse({{"decoder_sparse_step", 1}, {"mlp_only_layers", {1}}});

  EXPECT_TRUE(model->is_sparse_layer(0));
  EXPECT_FALSE(model->is_sparse_layer(1));
  EXPECT_TRUE(model->is_sparse_layer(2));
}

TEST(SparseDecoder, AddTheBalanceLossWhereItsLogitsAreWanted) {
  for (const char* type : {"mixtral", "qwen2_moe", "gpt_oss"}) {
    const json weight = {{"router_aux_loss_coef", 0.02}};
    EXPECT_EQ(small_sparse(type).parse(weight)->balance().weight, 0.0) << type;
    EXPECT_EQ(small_sparse(type).parse({{"output_router_logits", true}})->balance().weight, 0.001) << type;
  }
  const auto model =
      small_sparse("qwen2_moe").parse({{"output_router_logits", true}, {"mlp_only_layers", {1}}});
  EXPECT_EQ(model->balance().layers, 2);
  EXPECT_EQ(model->balance().z_weight, 0.0);
  EXPECT_EQ(small_sparse("mixtral").parse({{"router_z_loss_coef", 0.1}})->balance().z_weight, 0.1);
  EXPECT_EQ(model->balance().num_experts, 60);
}

TEST(SparseDecoder, ReadBackWhatTheyWrite) {
  for (const char* name : {"mixtral", "mixtral_fused", "qwen2_moe", "qwen2_moe_mixed", "qwen2_moe_balanced",
                           "mixtral_z_loss", "gpt_oss", "gpt_oss_balanced"}) {
    const auto model = read_hugging_face_config(golden_folder(std::string("sparse_families/") + name));

    const auto again = parse_hugging_face_config(model->config_json(), "again");

    EXPECT_EQ(again->config_json(), model->config_json()) << name;
    EXPECT_EQ(dynamic_cast<const SparseDecoder&>(*again), dynamic_cast<const SparseDecoder&>(*model)) << name;
  }
}

TEST(SparseDecoder, ExportTheNamesThatTheyRead) {
  for (const char* name : {"mixtral", "qwen2_moe", "qwen2_moe_mixed", "qwen2_moe_balanced", "mixtral_z_loss",
                           "gpt_oss", "gpt_oss_balanced"}) {
    const auto model = read_hugging_face_config(golden_folder(std::string("sparse_families/") + name));
    const MapperPtr out = model->to_hugging_face();

    const MapperPtr in = model->from_hugging_face(outputs_of(*out));

    EXPECT_EQ(inputs_of(*in), outputs_of(*out)) << name;
    EXPECT_EQ(outputs_of(*in), inputs_of(*out)) << name;
  }
}

}  // namespace
}  // namespace d9d::test
