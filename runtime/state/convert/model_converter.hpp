#pragma once
// A Hugging Face folder's weights through a mapper into new shards. Tensors are moved in boxes, so that
// memory does not grow with them. Blocks on the disk.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model_index.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

class ModelFiles;

struct ConversionOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<Dtype> dtype;           // of floating-point outputs
  std::map<std::string, Dtype> dtypes;  // of single outputs, whatever they are
  std::uint64_t box_bytes = 16 << 20;   // moved at once; memory is twice as much
  // Called after each box with bytes done and all bytes, of the outputs.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// Writes every output of the mapper into `directory` under temporary names; publish_model_state() makes them
// a model. Groups come in the order of the files. A group whose mapper computes values is in memory as a
// whole. Everything is checked before the first byte of data is read: input errors when the files lack an
// input, a mapper refuses a shape, an output is larger than a shard.
std::vector<WrittenShard> convert_model_state(const ModelFiles& files, const MapperPtr& mapper, Disk& disk,
                                              const std::string& directory, const ConversionOptions& options);

}  // namespace d9d
