#include "runtime/task/family_adapter.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/runtime/task/adapted_checkpoint.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

TEST_F(AdaptedCheckpoint, AloneIsTheFileThatPeftSaved) {
  disk_.make_directories(folder_ / "adapter");

  started().export_adapter(disk_, *reader_, folder_ / "adapter");

  const TensorMap written = read_safetensors(folder_ / "adapter/adapter_model.safetensors");
  const TensorMap saved = read_safetensors(golden_folder("peft/moe") + "/adapter_model.safetensors");
  ASSERT_EQ(written.size(), saved.size());
  for (const auto& [name, tensor] : saved) EXPECT_TRUE(bitwise_equal(written.at(name), tensor)) << name;
  const auto config =
      nlohmann::json::parse(read_text(disk_, folder_ / "adapter/adapter_config.json", 1 << 20));
  EXPECT_EQ(config["target_modules"], nlohmann::json({"down_proj", "gate_proj", "q_proj", "up_proj"}));
}

TEST_F(AdaptedCheckpoint, IsNoAdapterWhenOtherParametersTrainToo) {
  const FamilyAdapter adapter = started(
      StackConfig{{{LoraConfig{adapted_modules, {.r = 2, .alpha = 3}, {}}, FullTuneConfig{"lm_head"}}}});

  try {
    adapter.export_adapter(disk_, *reader_, folder_.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("lm_head.weight trains too"));
  }
}

}  // namespace
}  // namespace d9d::test
