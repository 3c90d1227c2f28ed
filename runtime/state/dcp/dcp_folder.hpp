#pragma once
// A folder that torch.distributed.checkpoint wrote: its values, and the tensors among them in one piece, whatever
// the number of ranks that wrote it. Blocks on the disk.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/state/dcp/dcp_metadata.hpp"
#include "runtime/state/dcp/torch_item.hpp"

namespace d9d {

class DcpFolder {
 public:
  // `disk` outlives this. Input errors: those of read_dcp_metadata().
  DcpFolder(const Disk& disk, std::string directory);

  const std::string& directory() const { return directory_; }
  const std::vector<DcpValue>& values() const { return values_; }
  // Reads a tensor whole. Input error that names it: it is none, or a part has another shape or dtype than
  // the metadata says. Environment error: its bytes do not match their checksum.
  at::Tensor read(const DcpValue& value) const;
  // Reads an integer, also one that is kept as a tensor of one element; a list of integers.
  std::int64_t read_integer(const DcpValue& value) const;
  std::vector<std::int64_t> read_integers(const DcpValue& value) const;

 private:
  TorchItem item_of(const DcpValue& value, const DcpPart& part) const;

  const Disk& disk_;
  const std::string directory_;
  const std::vector<DcpValue> values_;
  mutable std::map<std::string, std::unique_ptr<ReadFile>> files_;  // opened so far
};

}  // namespace d9d
