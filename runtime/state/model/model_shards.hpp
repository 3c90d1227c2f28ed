#pragma once
// The shards of an export. Which tensor goes into which file is planned before the first one comes, so each
// goes straight to its place. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/model/model_index.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {

struct ExportOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<at::ScalarType> dtype;  // of floating-point outputs; others keep theirs
  std::string writer = "0";             // part of the temporary file names
  bool sync = true;
  ModelShare share;  // other processes write the other shards
};

class ModelShards {
 public:
  // `tensors` fill one shard after the other, in this order. `options.dtype` is the caller's business. An
  // input error when one is larger than a shard.
  ModelShards(Disk& disk, std::string directory, const std::vector<TensorSpec>& tensors,
              ExportOptions options = {});

  // Whether this process writes it.
  bool writes(const std::string& name) const;
  // Whole, or a run of its values in row-major order from the one with this number; converted to the planned
  // dtype. Several threads may write at once.
  void write(const std::string& name, const at::Tensor& tensor);
  void write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part);
  // Where in its file that value is, in bytes.
  std::uint64_t offset_of(const std::string& name, std::int64_t first_value);
  // All shards, with those of other processes. A bug when tensors of this one's are missing.
  std::vector<WrittenShard> finish();

 private:
  using File = std::shared_ptr<SafetensorsWriter>;
  struct Shard {
    WrittenShard written;
    std::vector<TensorSpec> specs;
    File file;  // open while some are written and others not
    std::size_t num_left = 0;
  };
  void plan(const TensorSpec& spec);
  std::size_t index_of(const std::string& name) const;
  File file_of(Shard& shard);
  void count_written(Shard& shard);

  Disk& disk_;
  const std::string directory_;
  const ExportOptions options_;
  std::map<std::string, std::size_t> index_of_;  // by tensor
  std::mutex mutex_;                             // guards what is open and what is left
  std::vector<Shard> shards_;
};

}  // namespace d9d
