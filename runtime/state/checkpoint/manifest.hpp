#pragma once
// The contents of a training checkpoint `save-<step>/`: manifest.json and safetensors shards. A
// tensor is stored in slices under its global name, so any mesh can assemble the parts that it
// needs. The manifest is written last and makes the checkpoint complete. It carries a checksum of
// itself. No torch: the coordinator handles these.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

inline constexpr std::uint32_t manifest_format = 1;
inline constexpr const char* manifest_name = "manifest.json";

// The kinds of a model's parameters and of its persistent buffers.
inline constexpr const char* parameter_kind = "param";
inline constexpr const char* buffer_kind = "buffer";

// One stored slice. In its file it is the tensor `<kind>/<name>@<slice>`.
struct ManifestEntry {
  std::string kind;  // "param", "buffer", or an optimizer's state, e.g. "exp_avg"; no '/'
  std::string name;  // global name of the parameter or buffer
  Shape global_shape;
  Slice slice;
  Dtype dtype = Dtype::float32;
  std::string file;
  std::uint64_t checksum = 0;  // over the slice's bytes

  std::string tensor_name() const;
  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

struct ManifestFile {
  std::string name;  // in the checkpoint's folder
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  // of all bytes
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

// A writer's report to the coordinator about the shard it wrote.
struct ShardReport {
  ManifestFile file;
  std::vector<ManifestEntry> entries;
  friend bool operator==(const ShardReport&, const ShardReport&) = default;
};

struct Manifest {
  std::uint64_t step = 0;         // optimizer steps done
  std::uint64_t data_cursor = 0;  // global samples handed out and used
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  // the membership that wrote it
  std::string job_hash;
  std::string extra = "{}";  // JSON object: the job file, and the metrics and task state of each rank
  std::vector<ManifestFile> files;
  std::vector<ManifestEntry> entries;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Input error that names the tensor, unless the slices of every tensor agree in shape and dtype,
// cover it, and do not overlap.
void require_complete(const Manifest& manifest);
// Adds files and entries to the manifest and calls require_complete().
Manifest with_reports(Manifest manifest, const std::vector<ShardReport>& reports);

std::string to_json(const Manifest& manifest);
// Parses untrusted text. The input error names `path` and the mistake.
Manifest manifest_from_json(const std::string& text, const std::string& path);
std::string to_json(const ShardReport& report);
ShardReport shard_report_from_json(const std::string& text);

Manifest read_manifest(const Disk& disk, const std::string& directory);

}  // namespace d9d
