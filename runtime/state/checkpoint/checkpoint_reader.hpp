#pragma once
// Reads any slice of any tensor of a committed training checkpoint, whatever mesh wrote it. Reads
// only the stored slices that overlap it, and verifies the checksum of each before it returns a
// value of it. Const calls from several threads are fine: the ranks of a process share one reader.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {

class CheckpointReader {
 public:
  enum class Verify { each_slice, never };

  // Opens a checkpoint. `disk` must outlive the reader. Input error: the manifest.
  // Environment error: the disk.
  static std::unique_ptr<CheckpointReader> open(const Disk& disk, const std::string& directory,
                                                Verify verify = Verify::each_slice);

  const Manifest& manifest() const { return manifest_; }
  const std::string& extra() const { return manifest_.extra; }  // JSON text

  bool has(const std::string& kind, const std::string& name) const;
  const Shape& shape_of(const std::string& kind, const std::string& name) const;
  Dtype stored_dtype(const std::string& kind, const std::string& name) const;

  // Reads a contiguous CPU tensor of the stored dtype. Input error: no such tensor, or a
  // slice that is not inside it. Environment error with file and tensor: bytes that do
  // not match their checksum.
  at::Tensor read(const std::string& kind, const std::string& name) const;
  at::Tensor read(const std::string& kind, const std::string& name, const Slice& slice) const;

  // Lists names, global shapes and dtypes of one kind, in the order of names, as an export needs
  // them before it reads.
  std::vector<TensorSpec> specs(const std::string& kind) const;

 private:
  CheckpointReader(const Disk& disk, std::string directory, Verify verify);
  const std::vector<const ManifestEntry*>& parts_of(const std::string& kind, const std::string& name) const;
  const SafetensorsReader& file_of(const ManifestEntry& entry) const;
  at::Tensor read_part(const ManifestEntry& entry, const Slice& wanted) const;

  const Disk& disk_;
  const std::string directory_;
  const Verify verify_;
  const Manifest manifest_;
  std::map<std::string, std::vector<const ManifestEntry*>> parts_;  // by "<kind>/<name>"

  mutable std::mutex mutex_;  // guards what follows
  mutable std::map<std::string, std::unique_ptr<SafetensorsReader>> files_;
  mutable std::set<const ManifestEntry*> verified_;
};

}  // namespace d9d
