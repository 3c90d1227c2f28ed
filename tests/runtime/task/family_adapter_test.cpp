#include "runtime/task/family_adapter.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/checkpoint_commit.hpp"
#include "runtime/state/checkpoint_reader.hpp"
#include "runtime/state/checkpoint_writer_core.hpp"
#include "runtime/task/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

constexpr const char* adapted_modules = R"(.*\.(q_proj|experts\.(gate|up|down)_proj))";

// The adapter that peft saved for tests/golden/qwen3/moe, trained on until a checkpoint of it alone.
class AdaptedCheckpoint : public testing::Test {
 protected:
  AdaptedCheckpoint() {
    const FamilyAdapter adapter = started();
    const auto stage = stage_of(golden_);
    adapter.adapt(*stage);
    adapter.check();
    adapter.load(stage->parameters());
    std::vector<NamedSlice> slices;
    for (const StageParameter& parameter : stage->parameters()) {
      if (!parameter.of_adapter) continue;
      const Shape shape = parameter.tensor.sizes().vec();
      slices.push_back({"param", parameter.name, shape, whole(shape), parameter.tensor.detach()});
    }
    disk_.make_directories(folder_ / "tmp");
    const ShardReport report = ShardWriter(disk_).write(folder_ / "tmp", "0", slices);
    commit_checkpoint(disk_, folder_ / "tmp", folder_ / "save-1", with_reports({.step = 1}, {report}));
    reader_ = CheckpointReader::open(disk_, folder_ / "save-1");
  }

  FamilyAdapter started(const PeftConfig& config) const {
    return {golden_.model, config, golden_folder("moe"), disk_};
  }
  FamilyAdapter started() const {
    return started(LoraConfig{adapted_modules, {.r = 2, .alpha = 3}, golden_folder("peft/moe")});
  }

  GoldenModel golden_ = golden_model("moe");
  PosixDisk disk_;
  Scratch folder_;
  std::unique_ptr<CheckpointReader> reader_;
};

TEST_F(AdaptedCheckpoint, MergedIntoTheFolderItWasTrainedOnComputesWhatPeftComputes) {
  const FamilyAdapter adapter = started();

  export_hugging_face(disk_, folder_ / "merged", *golden_.model, adapter.merged(*reader_));

  const LoadedModel merged = load_hugging_face_model(disk_, folder_ / "merged");
  const TensorMap expect = read_safetensors(golden_folder("peft/moe") + "/expect.safetensors");
  const auto outputs = merged.stage->forward({{"input_ids", expect.at("input_ids")}}, {});
  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5);
}

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
