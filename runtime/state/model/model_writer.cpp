#include "runtime/state/model/model_writer.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

ModelWriter::ModelWriter(Disk& disk, std::string directory, MapperPtr mapper,
                         const std::vector<TensorSpec>& inputs, ExportOptions options)
    : mapper_(std::move(mapper)) {
  for (const auto& group : mapper_->groups())
    for (const auto& name : group.inputs) group_of_[name] = &group;
  Names unused;
  TensorMap shapes;
  for (const auto& spec : inputs) {
    D9D_REQUIRE(expected_.emplace(spec.name, spec).second, "\"{}\" is announced twice", spec.name);
    if (!group_of_.contains(spec.name)) unused.insert(spec.name);
    shapes[spec.name] = shape_only(spec);
  }
  D9D_REQUIRE(unused.empty(), "{} without a place in the exported model: {}",
              counted(unused.size(), "tensor"), to_text(unused));
  Names missing;
  for (const auto& [name, group] : group_of_)
    if (!expected_.contains(name)) missing.insert(name);
  D9D_REQUIRE(missing.empty(), "the mapper needs {}: {}", counted(missing.size(), "more tensor"),
              to_text(missing));
  shards_.emplace(disk, directory, planned_outputs(shapes, inputs, options), options);
  disk.make_directories(directory);
}

std::vector<TensorSpec> ModelWriter::planned_outputs(const TensorMap& shapes,
                                                     const std::vector<TensorSpec>& inputs,
                                                     const ExportOptions& options) const {
  std::vector<TensorSpec> outputs;
  std::set<const StateGroup*> planned;
  for (const auto& spec : inputs) {
    const auto* group = group_of_.at(spec.name);
    if (!planned.insert(group).second) continue;
    TensorMap part;
    for (const auto& name : group->inputs) part[name] = shapes.at(name);
    for (const auto& [name, tensor] : mapper_->apply(part)) {
      const bool converted = options.dtype && at::isFloatingType(tensor.scalar_type());
      const auto type = converted ? *options.dtype : tensor.scalar_type();
      outputs.push_back({name, dtype_of(type), tensor.sizes().vec()});
    }
  }
  return outputs;
}

void ModelWriter::put(const std::string& name, const at::Tensor& tensor) {
  const auto found = expected_.find(name);
  D9D_REQUIRE(found != expected_.end(), "\"{}\" was not announced, or comes twice", name);
  D9D_REQUIRE(spec_of(name, tensor) == found->second, "\"{}\" was announced as {} {} and comes as {} {}",
              name, safetensors_name(found->second.dtype), to_text(found->second.shape),
              c10::toString(tensor.scalar_type()), to_text(tensor.sizes().vec()));
  expected_.erase(found);
  const auto* group = group_of_.at(name);
  auto& arrived = arrived_[group];
  arrived[name] = tensor.detach();
  if (arrived.size() < group->inputs.size()) return;
  const TensorMap inputs = std::move(arrived);
  arrived_.erase(group);
  for (const auto& [output, result] : mapper_->apply(inputs)) shards_->write(output, result);
}

std::vector<WrittenShard> ModelWriter::finish() {
  D9D_CHECK(expected_.empty(), "{} announced tensors did not come, the first is \"{}\"", expected_.size(),
            expected_.begin()->first);
  return shards_->finish();
}

}  // namespace d9d
