#include "runtime/state/checkpoint/checkpoint_reader.hpp"

#include <ATen/ops/empty.h>
#include "runtime/base/error.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

void require_checksum(std::uint64_t found, const ManifestEntry& entry, const std::string& path) {
  if (found == entry.checksum) return;
  throw Error(
      ErrorKind::environment,
      fmt::format(
          "{}: tensor \"{}\" is damaged: its checksum is {}, the manifest says {}; load an older checkpoint",
          path, entry.tensor_name(), hex_of(found), hex_of(entry.checksum)));
}

}  // namespace

std::unique_ptr<CheckpointReader> CheckpointReader::open(const Disk& disk, const std::string& directory,
                                                         Verify verify) {
  return std::unique_ptr<CheckpointReader>(new CheckpointReader(disk, directory, verify));
}

CheckpointReader::CheckpointReader(const Disk& disk, std::string directory, Verify verify)
    : disk_(disk),
      directory_(std::move(directory)),
      verify_(verify),
      manifest_(read_manifest(disk, directory_)) {
  require_complete(manifest_);
  for (const auto& entry : manifest_.entries) parts_[entry.kind + "/" + entry.name].push_back(&entry);
}

bool CheckpointReader::has(const std::string& kind, const std::string& name) const {
  return parts_.contains(kind + "/" + name);
}

const Shape& CheckpointReader::shape_of(const std::string& kind, const std::string& name) const {
  return parts_of(kind, name).front()->global_shape;
}

Dtype CheckpointReader::stored_dtype(const std::string& kind, const std::string& name) const {
  return parts_of(kind, name).front()->dtype;
}

at::Tensor CheckpointReader::read(const std::string& kind, const std::string& name) const {
  return read(kind, name, whole(shape_of(kind, name)));
}

at::Tensor CheckpointReader::read(const std::string& kind, const std::string& name,
                                  const Slice& slice) const {
  const auto& parts = parts_of(kind, name);
  require_inside(slice, parts.front()->global_shape, directory_ + ": tensor \"" + kind + "/" + name + "\"");
  at::Tensor result;
  for (const auto* entry : parts) {
    const auto common = intersection(entry->slice, slice);
    if (is_empty(common)) continue;
    const at::Tensor part = read_part(*entry, common);
    if (common == slice) return part;
    if (!result.defined()) result = at::empty(slice.shape(), part.options());
    slice_view(result, relative_to(common, slice)).copy_(part);
  }
  // The slices are known to cover the tensor, so only an empty slice finds nothing.
  return result.defined() ? result
                          : at::empty(slice.shape(), at::TensorOptions(scalar_type_of(parts.front()->dtype)));
}

at::Tensor CheckpointReader::read_part(const ManifestEntry& entry, const Slice& wanted) const {
  const auto& file = file_of(entry);
  const auto name = entry.tensor_name();
  const auto& stored = file.at(name);
  if (stored.spec != TensorSpec{name, entry.dtype, entry.slice.shape()})
    throw Error(ErrorKind::environment,
                fmt::format("{}: tensor \"{}\" is {} {}; the manifest says {} {}", file.path(), name,
                            safetensors_name(stored.spec.dtype), to_text(stored.spec.shape),
                            safetensors_name(entry.dtype), to_text(entry.slice.shape())));
  const auto relative = relative_to(wanted, entry.slice);
  const bool all = wanted == entry.slice;
  bool check = false;
  if (verify_ == Verify::each_slice) {
    const std::lock_guard lock(mutex_);
    check = !verified_.contains(&entry);
  }
  if (check && !all) require_checksum(file.checksum_of(name), entry, file.path());
  at::Tensor tensor = file.read(name, relative);
  // All of it is in memory now: no second reading.
  if (check && all)
    require_checksum(checksum_of({static_cast<const char*>(tensor.data_ptr()), stored.spec.bytes()}), entry,
                     file.path());
  if (check) {
    const std::lock_guard lock(mutex_);
    verified_.insert(&entry);
  }
  return tensor;
}

std::vector<TensorSpec> CheckpointReader::specs(const std::string& kind) const {
  std::vector<TensorSpec> specs;
  for (const auto& [key, parts] : parts_)
    if (parts.front()->kind == kind)
      specs.push_back({parts.front()->name, parts.front()->dtype, parts.front()->global_shape});
  return specs;
}

const std::vector<const ManifestEntry*>& CheckpointReader::parts_of(const std::string& kind,
                                                                    const std::string& name) const {
  const auto found = parts_.find(kind + "/" + name);
  D9D_REQUIRE(found != parts_.end(),
              "{} holds no \"{}\" of \"{}\"; was it written with another model or optimizer?", directory_,
              kind, name);
  return found->second;
}

const SafetensorsReader& CheckpointReader::file_of(const ManifestEntry& entry) const {
  const std::lock_guard lock(mutex_);
  auto& file = files_[entry.file];
  if (!file) file = std::make_unique<SafetensorsReader>(disk_, join_path(directory_, entry.file));
  return *file;
}

}  // namespace d9d
