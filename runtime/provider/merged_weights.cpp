#include "runtime/provider/merged_weights.hpp"

#include <ATen/ops/empty.h>

#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
MergedWeights::Frozen::Frozen(const FamilyModel& model, const Disk& disk, const std::string& folder,
                              const NewRows& rows)
    : files(disk, folder), mapper(folder_to_parameters(model, files, rows)) {
  for (const auto& group : mapper->groups())
    for (const auto& name : group.outputs) group_of[name] = &group;
}

MergedWeights::MergedWeights(const FamilyModel& model, StageModule& stage, const Disk& disk,
                             const std::string& source, const CheckpointReader& checkpoint,
                             const NewRows& rows)
    : reader_(checkpoint), checkpoint_(checkpoint, parameter_kind) {
  if (!source.empty()) frozen_.emplace(model, disk, source, rows);
  require_merged_form(stage);
  for (const LoraAdapter& adapter : lora_adapters(stage)) adapters_[adapter.weight.name] = adapter;
  for (const OwnAdapter& adapter : own_adapters(stage)) own_[adapter.weight.name] = adapter;
  for (const StageParameter& parameter : stage.parameters()) {
    if (parameter.of_adapter) continue;
    const std::string& name = parameter.name;
    const auto own = dtype_of(parameter.tensor.scalar_type());
    const bool as_stored = is_stored(name) && !is_merged(name);
    specs_[name] = {name, as_stored ? checkpoint_.spec(name).dtype : own,
                    is_stored(name) ? checkpoint_.spec(name).shape : parameter.layout.global_shape()};
    if (is_computed(name)) computed_.insert(name);
  }
}

bool MergedWeights::is_computed(const std::string& name) const {
  if (is_stored(name)) return false;
  const auto group = frozen_->group_of.find(name);
  if (group == frozen_->group_of.end()) return false;
  TensorMap shapes;
  for (const auto& input : group->second->inputs) shapes[input] = frozen_->files.shape_only(input);
  return !frozen_->mapper->trace(name, whole(spec(name).shape), shapes);
}

at::Tensor MergedWeights::read(const std::string& name) const {
  const TensorSpec& wanted = spec(name);
  const at::Tensor weight = base(name, whole(wanted.shape));
  if (const auto own = own_.find(name); own != own_.end()) {
    TensorMap added;
    for (const StageParameter& parameter : own->second.added)
      added[own->second.name_of(parameter)] = checkpoint_.read(parameter.name);
    return own->second.merged(weight, added).to(scalar_type_of(wanted.dtype));
  }
  const auto adapter = adapters_.find(name);
  if (adapter == adapters_.end()) return weight;
  const auto& [config, path, own, a, b, magnitudes] = adapter->second;
  const auto factor = [&](const StageParameter& parameter) { return checkpoint_.read(parameter.name); };
  return merged_weight(weight, factor(a), factor(b), scale_of(config.params),
                       magnitudes ? factor(*magnitudes) : at::Tensor())
      .to(scalar_type_of(wanted.dtype));
}

void MergedWeights::read_into(const std::string& name, const Slice& box, std::byte* into) const {
  if (!is_merged(name) && is_stored(name)) return checkpoint_.read_into(name, box, into);
  const at::Tensor values = is_merged(name) ? slice_view(read(name), box).contiguous() : base(name, box);
  std::memcpy(into, values.data_ptr(), values.nbytes());
}

at::Tensor MergedWeights::base(const std::string& name, const Slice& box) const {
  return is_stored(name) ? reader_.read(parameter_kind, name, box) : from_folder(name, box);
}

// Of the dtype of the model.
at::Tensor MergedWeights::from_folder(const std::string& name, const Slice& box) const {
  const auto group = frozen_->group_of.find(name);
  D9D_REQUIRE(group != frozen_->group_of.end(), "neither {} nor the checkpoint holds the weight \"{}\"",
              frozen_->files.directory(), name);
  TensorMap shapes;
  for (const auto& input : group->second->inputs) shapes[input] = frozen_->files.shape_only(input);
  const at::Tensor values = at::empty(box.shape(), at::TensorOptions(scalar_type_of(spec(name).dtype)));
  if (const auto pieces = frozen_->mapper->trace(name, box, shapes)) {
    for (const Piece& piece : *pieces) {
      if (is_empty(piece.from)) continue;
      slice_view(values, relative_to(piece.to, box))
          .copy_(view_of(piece, frozen_->files.read(piece.input, piece.from)));
    }
    return values;
  }
  TensorMap inputs;
  for (const auto& input : group->second->inputs) inputs[input] = frozen_->files.read(input);
  return values.copy_(slice_view(frozen_->mapper->apply(inputs).at(name), box));
}

}  // namespace d9d
