#include "runtime/rank/qwen3_provider.hpp"

#include "runtime/nn/parallel/qwen3_plan.hpp"
#include "runtime/nn/qwen3_stage.hpp"
#include "runtime/state/checkpoint_reader.hpp"
#include "runtime/task/hugging_face_model.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

c10::ScalarType to_scalar_type(ModelDtype dtype) {
  switch (dtype) {
    case ModelDtype::float32:
      return c10::ScalarType::Float;
    case ModelDtype::bfloat16:
      return c10::ScalarType::BFloat16;
    case ModelDtype::float16:
      return c10::ScalarType::Half;
  }
  return c10::ScalarType::Float;
}

class Qwen3ModelProvider final : public ModelProvider {
 public:
  Qwen3ModelProvider(Qwen3Config config, ModelDtype dtype, bool enable_checkpointing, StageSplit split,
                     Disk& disk)
      : config_(std::move(config)),
        dtype_(dtype),
        enable_checkpointing_(enable_checkpointing),
        split_(split),
        disk_(disk) {}

  std::unique_ptr<StageModule> build_stage(StagePosition position) const override {
    return build_qwen3_stage(
        config_, position,
        {.dtype = to_scalar_type(dtype_), .checkpoint_activations = enable_checkpointing_, .split = split_});
  }

  std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                          const ParallelOptions& options) const override {
    return parallelize_qwen3(module, groups, options);
  }

  void load_weights(const std::string& directory, StagePosition position,
                    const std::vector<StageParameter>& parameters) const override {
    load_hugging_face_weights(disk_, directory, config_, position, parameters);
  }

  void export_model(const std::string& checkpoint, const std::string& target) const override {
    const auto reader = CheckpointReader::open(disk_, checkpoint);
    export_hugging_face(disk_, target, config_,
                        [&reader](const std::string& name) { return reader->read("param", name); });
  }

 private:
  const Qwen3Config config_;
  const ModelDtype dtype_;
  const bool enable_checkpointing_;
  const StageSplit split_;
  Disk& disk_;
};

}  // namespace

std::shared_ptr<const ModelProvider> make_qwen3_provider(Qwen3Config config, ModelDtype dtype,
                                                         bool enable_checkpointing, StageSplit split,
                                                         Disk& disk) {
  return std::make_shared<Qwen3ModelProvider>(std::move(config), dtype, enable_checkpointing, split, disk);
}

}  // namespace d9d
