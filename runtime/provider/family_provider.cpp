#include "runtime/provider/family_provider.hpp"

#include "runtime/family/family_model.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/provider/family_adapter.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/checkpoint/checkpoint_source.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

class FamilyModelProvider final : public ModelProvider {
 public:
  FamilyModelProvider(std::shared_ptr<const FamilyModel> model, Dtype dtype, KeptActivations activations,
                      StageSplit split, Disk& disk, const FamilyPeft& peft, nlohmann::json carried,
                      const NewRows& rows)
      : model_(std::move(model)),
        dtype_(dtype),
        activations_(std::move(activations)),
        split_(split),
        disk_(disk),
        carried_(std::move(carried)),
        rows_(rows) {
    if (peft.config) adapter_.emplace(model_, *peft.config, peft.source, disk_, rows);
  }

  std::unique_ptr<StageModule> build_stage(StagePosition position) const override {
    auto stage = model_->build_stage(position, {.dtype = scalar_type_of(dtype_),
                                                .device = c10::Device(position.device),
                                                .checkpoint_activations = activations_.checkpointing,
                                                .checkpoint_keeps = activations_.checkpoint_keeps,
                                                .offload_layers = activations_.offload_layers,
                                                .split = split_});
    if (adapter_) adapter_->adapt(*stage);
    return stage;
  }

  std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                          const ParallelOptions& options) const override {
    return model_->parallelize(module, groups, options);
  }

  void register_events(RankEvents& events) const override { model_->register_events(events); }

  bool starts_anew(const std::string& directory, const std::string& parameter) const override {
    return head_starts_anew(disk_, directory, *model_, parameter);
  }

  void load_weights(const std::string& directory, StagePosition position,
                    const std::vector<StageParameter>& parameters) const override {
    load_hugging_face_weights(disk_, directory, *model_, position, parameters, rows_);
  }

  void load_buffers(const std::string& directory, StagePosition position,
                    const std::vector<StageBuffer>& buffers) const override {
    load_hugging_face_buffers(disk_, directory, *model_, position, buffers);
  }

  void load_adapter(const std::vector<StageParameter>& parameters) const override {
    if (adapter_) adapter_->load(parameters);
  }

  std::vector<std::string> check_source(const std::string& directory) const override {
    std::vector<std::string> warnings = check_hugging_face_weights(disk_, directory, *model_);
    for (std::string& text : config_differences(disk_, directory, *model_, rows_))
      warnings.push_back(std::move(text));
    if (!adapter_) return warnings;
    for (std::string& warning : adapter_->check()) warnings.push_back(std::move(warning));
    return warnings;
  }

  void export_model(const std::string& checkpoint, const std::string& target) const override {
    export_share(checkpoint, target, {});
  }

  void export_share(const std::string& checkpoint, const std::string& target,
                    const ExportWork& work) const override {
    const auto reader = CheckpointReader::open(disk_, checkpoint);
    const std::unique_ptr<TensorSource> weights =
        adapter_ ? adapter_->merged(*reader) : std::make_unique<CheckpointSource>(*reader, parameter_kind);
    const WithBuffers all(*weights, *reader);
    export_hugging_face(disk_, target, *model_, all, special_tokens_in(disk_, checkpoint), work, carried_);
  }

  void export_adapter(const std::string& checkpoint, const std::string& target) const override {
    if (!adapter_) return ModelProvider::export_adapter(checkpoint, target);
    adapter_->export_adapter(disk_, *CheckpointReader::open(disk_, checkpoint), target);
  }

 private:
  const std::shared_ptr<const FamilyModel> model_;
  const Dtype dtype_;
  const KeptActivations activations_;
  const StageSplit split_;
  Disk& disk_;
  const nlohmann::json carried_;  // keys of config.json that an export keeps
  const NewRows rows_;
  std::optional<FamilyAdapter> adapter_;  // of model_provider.peft
};

}  // namespace

std::shared_ptr<const ModelProvider> make_family_provider(std::shared_ptr<const FamilyModel> model,
                                                          Dtype dtype, KeptActivations activations,
                                                          StageSplit split, Disk& disk,
                                                          const FamilyPeft& peft, nlohmann::json carried,
                                                          const NewRows& rows) {
  return std::make_shared<FamilyModelProvider>(std::move(model), dtype, std::move(activations), split, disk,
                                               peft, std::move(carried), rows);
}

}  // namespace d9d
