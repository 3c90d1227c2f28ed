#include "runtime/peft/adapted_model.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"

namespace d9d::test {
namespace {

std::vector<std::string> paths(const std::vector<AdaptedModel::NamedModule>& modules) {
  std::vector<std::string> paths;
  for (const auto& module : modules) paths.push_back(module.path);
  return paths;
}

TEST(AdaptedModel, FindsModulesParentsFirstAndNoAdapters) {
  const auto stage = adapted_stage(lora(".*"));
  const AdaptedModel model(*stage);

  EXPECT_THAT(
      paths(model.modules(ModulePattern(R"((model\.layers\.1\.mlp.*)?)"))),
      testing::ElementsAre("", "model.layers.1.mlp", "model.layers.1.mlp.gate", "model.layers.1.mlp.experts",
                           "model.layers.1.mlp.experts.gate_proj", "model.layers.1.mlp.experts.up_proj",
                           "model.layers.1.mlp.experts.down_proj"));
}

TEST(AdaptedModel, ListsFactorsBehindTheirWeight) {
  const auto stage = adapted_stage(lora(".*k_proj"));
  std::vector<std::string> names;
  for (const StageParameter& parameter : stage->parameters()) names.push_back(parameter.name);

  const auto weight = std::find(names.begin(), names.end(), "model.layers.0.self_attn.k_proj.weight");

  EXPECT_EQ(*(weight + 1), "model.layers.0.self_attn.k_proj.lora_A.weight");
  EXPECT_EQ(*(weight + 2), "model.layers.0.self_attn.k_proj.lora_B.weight");
}

class NoModule final : public StageModule {
 public:
  TensorMap forward(const TensorMap&, const TensorMap&) override { return {}; }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool) override {}
};

TEST(AdaptedModel, RefusesAStageThatIsNoTorchModule) {
  NoModule stage;

  EXPECT_THROW(AdaptedModel{stage}, Error);
  EXPECT_THROW(stage.set_parameters({}), Error);
}

}  // namespace
}  // namespace d9d::test
