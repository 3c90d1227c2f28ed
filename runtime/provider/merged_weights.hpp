#pragma once
// The weights of an adapted model with its adapters added, as its checkpoint and the folder of its frozen
// weights hold them. Blocks on the disk.

#include <map>
#include <optional>
#include <string>

#include "runtime/family/family_model.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/peft/adapter_files.hpp"
#include "runtime/peft/own_adapters.hpp"
#include "runtime/state/checkpoint/checkpoint_source.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class MergedWeights final : public TensorSource {
 public:
  // `stage`: the whole adapted model without storage; input error when an adapter has no merged form. `source`: the
  // folder of the frozen weights; empty: the checkpoint holds them. The disk and the checkpoint outlive this.
  MergedWeights(const FamilyModel& model, StageModule& stage, const Disk& disk, const std::string& source,
                const CheckpointReader& checkpoint, const NewRows& rows = {});

  const TensorSpec& spec(const std::string& name) const override { return specs_.at(name); }
  // A merged weight is computed as a whole, and so is a table that the mapper makes rows for.
  bool reads_boxes(const std::string& name) const override {
    return !is_merged(name) && !computed_.contains(name);
  }
  at::Tensor read(const std::string& name) const override;
  void read_into(const std::string& name, const Slice& box, std::byte* into) const override;

 private:
  bool is_stored(const std::string& name) const { return !frozen_ || checkpoint_.has(name); }
  bool is_merged(const std::string& name) const { return adapters_.contains(name) || own_.contains(name); }
  bool is_computed(const std::string& name) const;
  at::Tensor base(const std::string& name, const Slice& box) const;
  at::Tensor from_folder(const std::string& name, const Slice& box) const;

  // What has the frozen weights, and how they lie there.
  struct Frozen {
    Frozen(const FamilyModel& model, const Disk& disk, const std::string& folder, const NewRows& rows);
    ModelFiles files;
    MapperPtr mapper;
    std::map<std::string, const StateGroup*> group_of;  // by parameter
  };

  const CheckpointReader& reader_;
  const CheckpointSource checkpoint_;
  std::optional<Frozen> frozen_;
  std::map<std::string, TensorSpec> specs_;
  std::map<std::string, LoraAdapter> adapters_;  // by weight
  std::map<std::string, OwnAdapter> own_;        // of plugins' methods, by weight
  Names computed_;                               // of the folder, and not moved from it as they are
};

}  // namespace d9d
