#pragma once
// Writes a model in the Hugging Face layout through a mapper. All shapes are
// known before the first tensor comes, so shards are planned and mistakes found
// at once, and each tensor goes straight to its place. Blocks on the disk.
//
// One process: put every tensor, publish_model_state(disk, directory, writer.finish()).
// Several: each makes a writer with its own name and its share of the mapper (restrict_to_inputs for a
// pipeline stage, shard for replicas); one of them publishes the shards of all, in stage order.

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_shards.hpp"

namespace d9d {

class ModelWriter {
 public:
  // `inputs` lists every tensor that put() will bring, in that order. Input errors: the mapper
  // lacks an input or leaves one unused; an output is larger than a shard.
  ModelWriter(Disk& disk, std::string directory, MapperPtr mapper, const std::vector<TensorSpec>& inputs,
              ExportOptions options = {});

  // Brings a tensor, which must have the announced shape. When its group is complete, the group is
  // mapped, written and freed.
  void put(const std::string& name, const at::Tensor& tensor);
  // Finishes the shards. A bug if tensors are missing.
  std::vector<WrittenShard> finish();

 private:
  std::vector<TensorSpec> planned_outputs(const std::map<std::string, at::Tensor>& shapes,
                                          const std::vector<TensorSpec>& inputs,
                                          const ExportOptions& options) const;

  const MapperPtr mapper_;
  std::map<std::string, TensorSpec> expected_;         // tensors that put() has not brought yet
  std::map<std::string, const StateGroup*> group_of_;  // by input
  std::map<const StateGroup*, TensorMap> arrived_;     // incomplete groups
  std::optional<ModelShards> shards_;
};

}  // namespace d9d
