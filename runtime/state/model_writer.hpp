#pragma once
// Writes a model in the Hugging Face layout through a mapper. All shapes are
// known before the first tensor comes, so shards are planned and mistakes found
// at once, and each tensor goes straight to its place. Blocks on the disk.
//
// One process: put every tensor, publish_model_state(disk, directory, writer.finish()).
// Several: each makes a writer with its own name and its share of the mapper (restrict_to_inputs for a
// pipeline stage, shard for replicas); one of them publishes the shards of all, in stage order.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model_index.hpp"
#include "runtime/state/safetensors.hpp"

namespace d9d {

struct ExportOptions {
  std::uint64_t shard_bytes_max = 4'000'000'000;
  std::optional<at::ScalarType> dtype;  // of floating-point outputs; others keep theirs
  std::string writer = "0";             // part of the temporary file names
  bool sync = true;
};

class ModelWriter {
 public:
  // `inputs`: every tensor that put() will bring, in the order in which it comes. Input errors: the mapper
  // lacks an input or leaves one unused; an output is larger than a shard.
  ModelWriter(Disk& disk, std::string directory, MapperPtr mapper, const std::vector<TensorSpec>& inputs,
              ExportOptions options = {});

  // When its group is complete, the group is mapped, written
  // and freed. The tensor must have the announced shape.
  void put(const std::string& name, const at::Tensor& tensor);
  // A bug when tensors are missing.
  std::vector<WrittenShard> finish();

 private:
  struct Shard {
    WrittenShard written;
    std::vector<TensorSpec> specs;
    std::unique_ptr<SafetensorsWriter> file;  // open while some are written and others not
    std::size_t num_left = 0;
  };
  void plan(const std::map<std::string, at::Tensor>& shapes, const std::vector<TensorSpec>& inputs);
  void add_to_plan(const TensorSpec& spec);
  void write(const std::string& name, const at::Tensor& tensor);

  Disk& disk_;
  const std::string directory_;
  const MapperPtr mapper_;
  const ExportOptions options_;
  std::map<std::string, TensorSpec> expected_;         // what put() still has to bring
  std::map<std::string, const StateGroup*> group_of_;  // by input
  std::map<const StateGroup*, TensorMap> arrived_;     // incomplete groups
  std::vector<Shard> shards_;
  std::map<std::string, std::size_t> shard_of_;  // by output
};

}  // namespace d9d
