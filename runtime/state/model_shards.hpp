#pragma once
// The shards of an export. Which tensor goes into which file is planned before the first one comes, so each
// goes straight to its place. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/model_index.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {

struct ExportOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<at::ScalarType> dtype;  // of floating-point outputs; others keep theirs
  std::string writer = "0";             // part of the temporary file names
  bool sync = true;
};

class ModelShards {
 public:
  // `tensors` fill one shard after the other, in this order. `options.dtype` is the caller's business. An
  // input error when one is larger than a shard.
  ModelShards(Disk& disk, std::string directory, const std::vector<TensorSpec>& tensors,
              ExportOptions options = {});

  // Whole, or the next part of its values in row-major order; converted to the planned dtype.
  void write(const std::string& name, const at::Tensor& tensor);
  void append(const std::string& name, const at::Tensor& part);
  // A bug when tensors are missing.
  std::vector<WrittenShard> finish();

 private:
  struct Shard {
    WrittenShard written;
    std::vector<TensorSpec> specs;
    std::unique_ptr<SafetensorsWriter> file;  // open while some are written and others not
    std::size_t num_left = 0;
  };
  void plan(const TensorSpec& spec);
  Shard& shard_of(const std::string& name);
  void close_when_full(Shard& shard);

  Disk& disk_;
  const std::string directory_;
  const ExportOptions options_;
  std::vector<Shard> shards_;
  std::map<std::string, std::size_t> index_of_;  // by tensor
};

}  // namespace d9d
