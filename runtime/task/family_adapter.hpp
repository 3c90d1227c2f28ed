#pragma once
// `model_provider.peft` for built-in models: adapts stages, starts from adapters, and reads a checkpoint of
// an adapted model as the model's weights or as an adapter. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/peft/adapter_files.hpp"
#include "runtime/state/disk.hpp"

namespace d9d {

class CheckpointReader;

class FamilyAdapter {
 public:
  // `source`: the folder of the frozen weights, where checkpoints lack them; empty: they hold all.
  FamilyAdapter(std::shared_ptr<const FamilyModel> model, const PeftConfig& config, std::string source,
                const Disk& disk);

  void adapt(StageModule& stage) const { inject_peft_and_freeze(stage, *method_); }
  // Copies the adapters to start from into the parameters of a stage, whose weights are there.
  void load(const std::vector<StageParameter>& parameters) const;
  // Whether load() will find all it needs.
  void check() const;

  // Weights of the model by name, with the adapters added to them. Both outlive the function.
  std::function<at::Tensor(const std::string& name)> merged(const CheckpointReader& checkpoint) const;
  // The adapters alone, in PEFT's format. Input error when other parameters train, too.
  void export_adapter(Disk& disk, const CheckpointReader& checkpoint, const std::string& target) const;

 private:
  std::unique_ptr<StageModule> whole_model() const;
  std::vector<NamedAdapter> adapters() const;
  at::Tensor base_weight(const CheckpointReader& checkpoint, const StageParameter& parameter) const;

  const std::shared_ptr<const FamilyModel> model_;
  const std::unique_ptr<const PeftMethod> method_;
  const std::string source_;
  const Disk& disk_;
};

}  // namespace d9d
