#pragma once
// Writes this node's (or rank's) shard of a training checkpoint. Blocks on the disk: call from a writer's own
// thread. The tensors must not change until write() returns.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The block `slice` of the global tensor `name`, as one rank holds it. `tensor` has the slice's
// shape and may be on any device.
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

  // Writes `<shard_name>.safetensors` into `directory`, which is made if it is missing. Leaves out
  // empty slices. Input error: a tensor does not have its slice's shape, or a slice comes twice.
  // Environment error: the disk fails; then the directory stays, without a manifest.
  ShardReport write(const std::string& directory, const std::string& shard_name,
                    const std::vector<NamedSlice>& slices) const;

 private:
  Disk& disk_;
  bool sync_;
};

}  // namespace d9d
