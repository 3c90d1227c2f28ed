#pragma once
// Lists the contents of a checkpoint or a model folder; reads only manifest and
// headers. `d9d-node checkpoint inspect`.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

struct InspectedTensor {
  std::string kind;  // "param", "exp_avg", ...; "weight" in a model folder
  std::string name;
  Dtype dtype = Dtype::float32;
  Shape shape;
  std::vector<std::string> files;  // several if it is stored in slices

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(num_elements(shape) * size_of(dtype)); }
};

struct Inspection {
  std::string path;
  std::vector<InspectedTensor> tensors;         // by kind, then by name
  config::Json facts = config::Json::object();  // everything else the folder says, in the order to print
  std::vector<DirectoryEntry> other_files;      // files without tensors
};

// Input error when `directory` is neither a checkpoint nor a model folder, or its manifest, index
// or headers are broken.
Inspection inspect_folder(const Disk& disk, const std::string& directory);

std::string to_text(const Inspection& inspection);
config::Json to_json(const Inspection& inspection);

}  // namespace d9d
