#pragma once
// `model_provider.peft` for built-in models: adapts stages, starts from adapters, and reads a checkpoint of
// an adapted model as the model's weights or as an adapter. Blocks on the disk.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/model_folder/beside_adapters.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/peft/adapter_files.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

class CheckpointReader;
class TensorSource;

class FamilyAdapter {
 public:
  // `source`: the folder of the frozen weights, where checkpoints lack them; empty: they hold all.
  FamilyAdapter(std::shared_ptr<const FamilyModel> model, const PeftConfig& config, std::string source,
                const Disk& disk, const NewRows& rows = {});

  void adapt(StageModule& stage) const { inject_peft_and_freeze(stage, *method_, beside_); }
  // Copies the adapters to start from into the parameters of a stage, whose weights are there.
  void load(const std::vector<StageParameter>& parameters) const;
  // Whether load() will find all it needs; returns what people should know of.
  std::vector<std::string> check() const;

  // The model's weights with the adapters added to them. The checkpoint outlives them.
  std::unique_ptr<TensorSource> merged(const CheckpointReader& checkpoint) const;
  // The adapters alone, in PEFT's format, with the modules that train whole. Input errors: adapter_contents().
  void export_adapter(Disk& disk, const CheckpointReader& checkpoint, const std::string& target) const;

 private:
  // The whole adapted model without storage.
  struct Whole {
    std::unique_ptr<StageModule> stage;
    std::vector<LoraAdapter> lora;
    std::vector<NamedAdapter> begun;  // those that start from a folder
    std::vector<SavedTensor> beside;  // of beside_
  };
  const Whole& whole_model() const;  // built when it is needed first
  // What is to be said of tables whose new rows do not train; empty: nothing.
  std::string new_rows_that_stay() const;

  const std::shared_ptr<const FamilyModel> model_;
  const std::unique_ptr<const PeftMethod> method_;
  const std::string source_;
  const Disk& disk_;
  const NewRows rows_;
  const std::vector<std::string> beside_;   // parameters that train though no method names them
  const std::vector<std::string> not_had_;  // modules that patterns name in vain: sentences
  mutable std::once_flag once_;             // guards what follows
  mutable Whole whole_;
};

}  // namespace d9d
