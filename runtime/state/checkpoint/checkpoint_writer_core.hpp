#pragma once
// Writes this node's (or rank's) shard of a training checkpoint. Blocks on the disk: call from a writer's own
// thread. The tensors must not change until write() returns.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The block `slice` of the global tensor `name`, as one rank
// holds it. `tensor` has the slice's shape, any device.
struct NamedSlice {
  std::string kind;
  std::string name;
  Shape global_shape;
  Slice slice;
  at::Tensor tensor;
};

class ShardWriter {
 public:
  // With `sync` the bytes and the file's name are on stable storage when write() returns.
  explicit ShardWriter(Disk& disk, bool sync = true) : disk_(disk), sync_(sync) {}

  // Makes `directory` when it is missing and writes `<shard_name>.safetensors` into it. Empty slices are left
  // out. An input error when a tensor does not have its slice's shape, or a slice comes twice; an environment
  // error when the disk fails: then the directory stays as a leftover without a manifest.
  ShardReport write(const std::string& directory, const std::string& shard_name,
                    const std::vector<NamedSlice>& slices) const;

 private:
  Disk& disk_;
  bool sync_;
};

}  // namespace d9d
