#pragma once
// The file `.metadata` of a folder that torch.distributed.checkpoint wrote: which values there are, how tensors are
// cut, and in which bytes of which files the parts are. A file's contents are untrusted until this code has checked
// them.

#include <optional>
#include <string>
#include <vector>

#include "runtime/state/dcp/zip_archive.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/safetensors_header.hpp"
#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

inline constexpr const char* dcp_metadata_name = ".metadata";

// One value that torch.save wrote: a slice of a tensor, or something that is no tensor.
struct DcpPart {
  Slice slice;  // without dims for what is no tensor
  std::string file;
  FileRange bytes;
};

struct DcpValue {
  std::string name;               // "state.tracked_modules.pp_0_stage_0.model.norm.weight"
  std::vector<std::string> path;  // the same by keys: state, tracked_modules, pp_0_stage_0, model.norm.weight
  std::optional<TensorSpec> tensor;
  std::vector<DcpPart> parts;  // of a tensor: they cover it and do not overlap
};

// In the order in which the state's dicts had them (torch keeps it), so that the parameters of a model come in the
// order in which its optimizer numbers them. Input error with the file, the value and a remedy: a file or bytes are
// missing, parts overlap or leave a gap, a class that is not known.
std::vector<DcpValue> read_dcp_metadata(const Disk& disk, const std::string& directory);

}  // namespace d9d
