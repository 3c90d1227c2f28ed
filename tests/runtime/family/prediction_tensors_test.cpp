#include "runtime/family/prediction_tensors.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/deepseek_v3/config.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/pattern.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class PredictionTensors : public testing::TestWithParam<std::string> {
 protected:
  const GoldenModel golden_ = golden_model("multi_token_prediction/" + GetParam());
};
INSTANTIATE_TEST_SUITE_P(Cases, PredictionTensors, testing::Values("two_depths", "one_depth_tied"),
                         [](const auto& info) { return info.param; });

// Copies of embedding and head are written and not read.
TEST_P(PredictionTensors, ExportsTheTensorsOfThePublishedFolder) {
  const TensorMap stored =
      read_safetensors(golden_folder("multi_token_prediction/" + GetParam()) + "/model.safetensors");
  Names names;
  for (const auto& [name, tensor] : stored) names.insert(name);

  const MapperPtr out = golden_.model->to_hugging_face();
  const MapperPtr in = golden_.model->from_hugging_face(names);

  EXPECT_EQ(outputs_of(*out), names);
  EXPECT_EQ(outputs_of(*in), inputs_of(*out));
  for (const StateGroup& group : out->groups()) {
    TensorMap inputs;
    for (const std::string& name : group.inputs) inputs[name] = golden_.weights.at(name);
    for (const auto& [name, tensor] : out->apply(inputs))
      EXPECT_TRUE(bitwise_equal(tensor, stored.at(name))) << name;
  }
  const std::vector<std::string> unread = golden_.model->unread_tensors(names);
  for (const std::string& name : names)
    EXPECT_NE(inputs_of(*in).contains(name), matches_any(name, unread)) << name;
}

TEST_P(PredictionTensors, WritesAConfigThatItReads) {
  const auto again = parse_hugging_face_config(golden_.model->config_json(), "again");

  EXPECT_EQ(dynamic_cast<const DeepseekV3Config&>(*again),
            dynamic_cast<const DeepseekV3Config&>(*golden_.model));
}

// A folder that transformers wrote has no modules: they are drawn, with their selection biases at zero.
TEST_P(PredictionTensors, BeginsAnewWhereTheFolderHasNoModules) {
  Names without;
  for (const std::string& name : outputs_of(*golden_.model->to_hugging_face())) {
    if (!name.starts_with("model.layers.2.") && !name.starts_with("model.layers.3.")) without.insert(name);
  }

  EXPECT_EQ(inputs_of(*golden_.model->from_hugging_face(without)), without);
  EXPECT_TRUE(golden_.model->starts_anew(without, "model.layers.2.eh_proj.weight"));
  EXPECT_TRUE(golden_.model->starts_anew(without, "model.layers.2.mlp.gate.e_score_correction_bias"));
  EXPECT_FALSE(golden_.model->starts_anew(without, "model.layers.1.input_layernorm.weight"));
}

// Of a folder with two modules the job trains the first.
TEST(PredictionModel, LeavesTheModulesThatItLacksInTheFolder) {
  nlohmann::json document =
      nlohmann::json::parse(golden_model("multi_token_prediction/two_depths").model->config_json());
  document["num_nextn_predict_layers"] = 1;
  const auto model = parse_hugging_face_config(document.dump(), "fewer");
  Names stored;
  for (const auto& [name, tensor] :
       read_safetensors(golden_folder("multi_token_prediction/two_depths") + "/model.safetensors"))
    stored.insert(name);

  const Names read = without_matches(stored, model->unread_tensors(stored));

  EXPECT_EQ(read, inputs_of(*model->from_hugging_face(stored)));
  EXPECT_TRUE(read.contains("model.layers.2.eh_proj.weight"));
  EXPECT_FALSE(read.contains("model.layers.3.eh_proj.weight"));
}

std::string config_with(const nlohmann::json& change) {
  nlohmann::json document = {{"model_type", "deepseek_v3"}, {"hidden_size", 32}, {"intermediate_size", 48},
                             {"num_hidden_layers", 5},      {"vocab_size", 64},  {"num_attention_heads", 4}};
  document.update(change);
  return document.dump();
}

TEST(PredictionConfig, AFactorOfZeroIsOneLeftOut) {
  const auto names_with = [](const nlohmann::json& change) {
    return outputs_of(*parse_hugging_face_config(config_with(change), "config.json")->to_hugging_face());
  };

  EXPECT_EQ(names_with({{"mtp_loss_factor", 0.0}, {"num_nextn_predict_layers", 1}}),
            names_with({{"num_nextn_predict_layers", 1}}));
  EXPECT_NE(names_with({{"mtp_loss_factor", 0.3}, {"num_nextn_predict_layers", 1}}),
            names_with({{"num_nextn_predict_layers", 1}}));
}

TEST(PredictionConfig, RefusesAFactorThatWeighsNothing) {
  const auto error_with = [](const nlohmann::json& change) {
    return d9d::test::error_of([&] { parse_hugging_face_config(config_with(change), "config.json"); },
                               ErrorKind::input);
  };

  EXPECT_THAT(error_with({{"mtp_loss_factor", 0.3}}), HasSubstr("num_nextn_predict_layers is 0"));
  EXPECT_THAT(error_with({{"mtp_loss_factor", -1.0}, {"num_nextn_predict_layers", 1}}),
              HasSubstr("mtp_loss_factor is -1"));
}

}  // namespace
}  // namespace d9d::test
