#include "runtime/state/model/model_shards.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

ModelShards::ModelShards(Disk& disk, std::string directory, const std::vector<TensorSpec>& tensors,
                         ExportOptions options)
    : disk_(disk), directory_(std::move(directory)), options_(std::move(options)) {
  for (const auto& spec : tensors) plan(spec);
  for (auto& shard : shards_) shard.num_left = shard.specs.size();
}

void ModelShards::plan(const TensorSpec& spec) {
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

std::size_t ModelShards::index_of(const std::string& name) const {
  const auto found = index_of_.find(name);
  D9D_CHECK(found != index_of_.end(), "\"{}\" is not in the plan", name);
  return found->second;
}

bool ModelShards::writes(const std::string& name) const {
  return options_.share.has(index_of(name), shards_.size());
}

ModelShards::File ModelShards::file_of(Shard& shard) {
  const std::lock_guard lock(mutex_);
  D9D_CHECK(shard.num_left > 0, "{} is written again", shard.written.temporary);
  if (!shard.file)
    shard.file = std::make_shared<SafetensorsWriter>(disk_, join_path(directory_, shard.written.temporary),
                                                     shard.specs);
  return shard.file;
}

// The last tensor closes the file, while other threads go on with the next one.
void ModelShards::count_written(Shard& shard) {
  File full;
  {
    const std::lock_guard lock(mutex_);
    if (--shard.num_left > 0) return;
    full = std::move(shard.file);
  }
  full->finish(options_.sync);
}

void ModelShards::write(const std::string& name, const at::Tensor& tensor) {
  auto& shard = shards_[index_of(name)];
  file_of(shard)->write(name, tensor);
  count_written(shard);
}

void ModelShards::write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part) {
  auto& shard = shards_[index_of(name)];
  if (file_of(shard)->write_at(name, first_value, part)) count_written(shard);
}

std::uint64_t ModelShards::offset_of(const std::string& name, std::int64_t first_value) {
  const StoredTensor stored = file_of(shards_[index_of(name)])->stored(name);
  return stored.offset + static_cast<std::uint64_t>(first_value) * size_of(stored.spec.dtype);
}

std::vector<WrittenShard> ModelShards::finish() {
  std::vector<WrittenShard> written;
  for (const auto& shard : shards_) {
    const bool done = shard.num_left == 0 || !writes(shard.specs.front().name);
    D9D_CHECK(done, "{} planned tensors were not written, one of {}", shard.num_left,
              shard.specs.front().name);
    written.push_back(shard.written);
  }
  return written;
}

}  // namespace d9d
