#pragma once
// The shards of an export. The file of each tensor is planned before the first one arrives, so each
// is written straight to its place. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/model/publish_model.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {

struct ExportOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<at::ScalarType> dtype;  // for floating-point outputs; others keep theirs
  std::string writer = "0";             // a part of temporary file names
  bool sync = true;
  ModelShare share;  // other processes write the other shards
};

class ModelShards {
 public:
  // Plans the shards: `tensors` fill one after the other, in this order. The caller applies
  // `options.dtype`. Input error: a tensor is larger than a shard.
  ModelShards(Disk& disk, std::string directory, const std::vector<TensorSpec>& tensors,
              ExportOptions options = {});

  // Whether this process writes the tensor.
  bool writes(const std::string& name) const;
  // Writes a tensor, converted to the planned dtype: whole, or a run of its values in row-major
  // order from `first_value` on. Several threads may write at once.
  void write(const std::string& name, const at::Tensor& tensor);
  void write_at(const std::string& name, std::int64_t first_value, const at::Tensor& part);
  // Returns the value's offset in its file, in bytes.
  std::uint64_t offset_of(const std::string& name, std::int64_t first_value);
  // Finishes and returns all shards, including those of other processes. A bug if tensors of
  // this process are missing.
  std::vector<WrittenShard> finish();

 private:
  using File = std::shared_ptr<SafetensorsWriter>;
  struct Shard {
    WrittenShard written;
    std::vector<TensorSpec> specs;
    File file;  // open while it is partly written
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
  std::mutex mutex_;                             // guards which files are open, and what they lack
  std::vector<Shard> shards_;
};

}  // namespace d9d
