#include "runtime/state/model_writer.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

ModelWriter::ModelWriter(Disk& disk, std::string directory, MapperPtr mapper,
                         const std::vector<TensorSpec>& inputs, ExportOptions options)
    : disk_(disk),
      directory_(std::move(directory)),
      mapper_(std::move(mapper)),
      options_(std::move(options)) {
  for (const auto& group : mapper_->groups())
    for (const auto& name : group.inputs) group_of_[name] = &group;
  Names unused;
  TensorMap shapes;
  for (const auto& spec : inputs) {
    D9D_REQUIRE(expected_.emplace(spec.name, spec).second, "export: \"{}\" is announced twice", spec.name);
    if (!group_of_.contains(spec.name)) unused.insert(spec.name);
    shapes[spec.name] = shape_only(spec);
  }
  D9D_REQUIRE(unused.empty(), "export: {} without a place in the exported model: {}",
              counted(unused.size(), "tensor"), to_text(unused));
  Names missing;
  for (const auto& [name, group] : group_of_)
    if (!expected_.contains(name)) missing.insert(name);
  D9D_REQUIRE(missing.empty(), "export: the mapper needs {}: {}", counted(missing.size(), "more tensor"),
              to_text(missing));
  plan(shapes, inputs);
  disk_.make_directories(directory_);
}

void ModelWriter::plan(const TensorMap& shapes, const std::vector<TensorSpec>& inputs) {
  std::set<const StateGroup*> planned;
  for (const auto& spec : inputs) {
    const auto* group = group_of_.at(spec.name);
    if (!planned.insert(group).second) continue;
    TensorMap part;
    for (const auto& name : group->inputs) part[name] = shapes.at(name);
    for (const auto& [name, tensor] : mapper_->apply(part)) {
      const bool converted = options_.dtype && at::isFloatingType(tensor.scalar_type());
      const auto type = converted ? *options_.dtype : tensor.scalar_type();
      add_to_plan({name, dtype_of(type), tensor.sizes().vec()});
    }
  }
  for (auto& shard : shards_) shard.num_left = shard.specs.size();
}

void ModelWriter::add_to_plan(const TensorSpec& spec) {
  D9D_REQUIRE(spec.bytes() <= options_.shard_bytes_max,
              "export: \"{}\" has {} bytes, more than a shard may have ({}); allow larger shards", spec.name,
              spec.bytes(), options_.shard_bytes_max);
  if (shards_.empty() || shards_.back().written.bytes + spec.bytes() > options_.shard_bytes_max) {
    shards_.emplace_back();
    shards_.back().written.temporary =
        fmt::format("model-writer-{}-{:05}.tmp", options_.writer, shards_.size());
  }
  auto& shard = shards_.back();
  shard.written.tensors.push_back(spec.name);
  shard.written.bytes += spec.bytes();
  shard.specs.push_back(spec);
  shard_of_[spec.name] = shards_.size() - 1;
}

void ModelWriter::put(const std::string& name, const at::Tensor& tensor) {
  const auto found = expected_.find(name);
  D9D_REQUIRE(found != expected_.end(), "export: \"{}\" was not announced, or comes twice", name);
  D9D_REQUIRE(spec_of(name, tensor) == found->second,
              "export: \"{}\" was announced as {} {} and comes as {} {}", name,
              safetensors_name(found->second.dtype), to_text(found->second.shape),
              c10::toString(tensor.scalar_type()), to_text(tensor.sizes().vec()));
  expected_.erase(found);
  const auto* group = group_of_.at(name);
  auto& arrived = arrived_[group];
  arrived[name] = tensor.detach();
  if (arrived.size() < group->inputs.size()) return;
  const TensorMap inputs = std::move(arrived);
  arrived_.erase(group);
  for (const auto& [output, result] : mapper_->apply(inputs)) write(output, result);
}

void ModelWriter::write(const std::string& name, const at::Tensor& tensor) {
  auto& shard = shards_[shard_of_.at(name)];
  if (!shard.file)
    shard.file = std::make_unique<SafetensorsWriter>(disk_, join_path(directory_, shard.written.temporary),
                                                     shard.specs);
  shard.file->write(name, tensor);
  if (--shard.num_left > 0) return;
  shard.file->finish(options_.sync);
  shard.file.reset();
}

std::vector<WrittenShard> ModelWriter::finish() {
  D9D_CHECK(expected_.empty(), "export: {} announced tensors did not come, the first is \"{}\"",
            expected_.size(), expected_.begin()->first);
  std::vector<WrittenShard> written;
  for (const auto& shard : shards_) written.push_back(shard.written);
  return written;
}

}  // namespace d9d
