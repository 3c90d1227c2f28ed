#pragma once
// A checkpoint of an adapter, beside the golden folder of the model that it was trained on.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/provider/family_adapter.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/scratch.hpp"

namespace d9d::test {

inline constexpr const char* adapted_modules = R"(.*\.(q_proj|experts\.(gate|up|down)_proj))";

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

}  // namespace d9d::test
