#include "runtime/state/model_shards.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

ModelShards::ModelShards(Disk& disk, std::string directory, const std::vector<TensorSpec>& tensors,
                         ExportOptions options)
    : disk_(disk), directory_(std::move(directory)), options_(std::move(options)) {
  for (const auto& spec : tensors) plan(spec);
  for (auto& shard : shards_) shard.num_left = shard.specs.size();
}

void ModelShards::plan(const TensorSpec& spec) {
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
  index_of_[spec.name] = shards_.size() - 1;
}

ModelShards::Shard& ModelShards::shard_of(const std::string& name) {
  auto& shard = shards_[index_of_.at(name)];
  if (!shard.file)
    shard.file = std::make_unique<SafetensorsWriter>(disk_, join_path(directory_, shard.written.temporary),
                                                     shard.specs);
  return shard;
}

void ModelShards::close_when_full(Shard& shard) {
  if (--shard.num_left > 0) return;
  shard.file->finish(options_.sync);
  shard.file.reset();
}

void ModelShards::write(const std::string& name, const at::Tensor& tensor) {
  auto& shard = shard_of(name);
  shard.file->write(name, tensor);
  close_when_full(shard);
}

void ModelShards::append(const std::string& name, const at::Tensor& part) {
  auto& shard = shard_of(name);
  if (shard.file->append(name, part)) close_when_full(shard);
}

std::vector<WrittenShard> ModelShards::finish() {
  std::vector<WrittenShard> written;
  for (const auto& shard : shards_) {
    D9D_CHECK(shard.num_left == 0, "export: {} planned tensors were not written, one of {}", shard.num_left,
              shard.specs.front().name);
    written.push_back(shard.written);
  }
  return written;
}

}  // namespace d9d
