#include "runtime/state/checkpoint/checkpoint_verify.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/tensor_file/safetensors_header.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t piece_bytes = 1 << 20;

using Entries = std::vector<const ManifestEntry*>;

std::vector<std::string> slices_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto* entry : entries) names.push_back(entry->tensor_name());
  return names;
}

class Verification {
 public:
  Verification(const Disk& disk, const std::string& directory, const VerifyProgress& progress)
      : disk_(disk), directory_(directory), progress_(progress) {}

  VerifyReport run() {
    if (!read()) return report_;
    for (const auto& file : manifest_.files) total_ += file.bytes;
    for (const auto& file : manifest_.files) {
      try {
        check(file);
      } catch (const Error& error) {
        add(file.name, error.what(), slices_of(entries_[file.name]));
      }
    }
    return report_;
  }

 private:
  void add(const std::string& file, const std::string& problem, std::vector<std::string> tensors = {}) {
    report_.findings.push_back({file, problem, std::move(tensors)});
  }

  // Whether there is a manifest to compare with.
  bool read() {
    try {
      manifest_ = read_manifest(disk_, directory_);
    } catch (const Error& error) {
      add(manifest_name, error.what());
      return false;
    }
    for (const auto& entry : manifest_.entries) entries_[entry.file].push_back(&entry);
    report_.num_files = manifest_.files.size();
    report_.num_slices = manifest_.entries.size();
    try {
      require_complete(manifest_);
    } catch (const Error& error) {
      add(manifest_name, error.what());
    }
    check_names();
    return true;
  }

  void check_names() {
    std::set<std::string> known{manifest_name};
    for (const auto& file : manifest_.files) known.insert(file.name);
    for (const auto& entry : disk_.list(directory_))
      if (!known.contains(entry.name)) report_.strangers.push_back(entry.name);
    for (const auto& [file, entries] : entries_)
      if (!known.contains(file)) add(file, "it is not among the manifest's files", slices_of(entries));
    const auto folder = std::filesystem::path(directory_).lexically_normal().filename().string();
    if (folder.starts_with("save-") && folder != checkpoint_name(manifest_.step))
      add(manifest_name,
          fmt::format("it is the manifest of step {}, the folder is {}", manifest_.step, folder));
  }

  void check(const ManifestFile& stated) {
    const auto path = join_path(directory_, stated.name);
    const Entries& entries = entries_[stated.name];
    if (!disk_.exists(path)) return add(stated.name, "it is missing", slices_of(entries));
    const auto file = disk_.open(path);
    if (file->size() != stated.bytes) {
      add(stated.name, fmt::format("it has {} bytes, the manifest says {}", file->size(), stated.bytes),
          slices_of(entries));
      return;
    }
    std::map<std::uint64_t, StoredTensor> parts;  // by offset; an empty tensor has no bytes to compare
    bool header_is_good = true;
    if (!entries.empty()) header_is_good = check_header(*file, entries, parts);
    check_bytes(*file, stated, entries, parts, header_is_good);
  }

  // Names, dtypes and shapes.
  bool check_header(const ReadFile& file, const Entries& entries,
                    std::map<std::uint64_t, StoredTensor>& parts) {
    const std::string name = std::filesystem::path(file.path()).filename().string();
    SafetensorsHeader header;
    try {
      header = read_safetensors_header(file);
    } catch (const Error& error) {
      add(name, error.what(), slices_of(entries));
      return false;
    }
    bool good = true;
    for (const auto* entry : entries) {
      const TensorSpec expected{entry->tensor_name(), entry->dtype, entry->slice.shape()};
      const auto stored = header.tensors.find(expected.name);
      if (stored == header.tensors.end()) {
        add(name, "a tensor of the manifest is not in it", {expected.name});
        good = false;
        continue;
      }
      if (stored->second.spec != expected) {
        const TensorSpec& found = stored->second.spec;
        add(name,
            fmt::format("a tensor is {} {}, the manifest says {} {}", safetensors_name(found.dtype),
                        to_text(found.shape), safetensors_name(expected.dtype), to_text(expected.shape)),
            {expected.name});
        good = false;
      }
      if (expected.bytes() > 0) parts[stored->second.offset] = stored->second;
      header.tensors.erase(stored);
    }
    for (const auto& [stranger, stored] : header.tensors)
      add(name, fmt::format("it holds \"{}\", which the manifest does not name", stranger));
    return good && header.tensors.empty();
  }

  void check_bytes(const ReadFile& file, const ManifestFile& stated, const Entries& entries,
                   const std::map<std::uint64_t, StoredTensor>& parts, bool header_is_good) {
    std::map<std::string, std::uint64_t> stated_checksums;
    for (const auto* entry : entries) stated_checksums[entry->tensor_name()] = entry->checksum;
    Checksum all;
    std::vector<std::string> wrong;
    std::uint64_t at = 0;
    for (const auto& [offset, stored] : parts) {
      run_over(file, at, offset, {&all});
      Checksum own;
      run_over(file, offset, offset + stored.spec.bytes(), {&all, &own});
      at = offset + stored.spec.bytes();
      if (own.value() != stated_checksums.at(stored.spec.name)) wrong.push_back(stored.spec.name);
    }
    run_over(file, at, file.size(), {&all});
    if (!wrong.empty())
      add(stated.name, fmt::format("{} with wrong bytes", counted(wrong.size(), "tensor")), wrong);
    else if (all.value() != stated.checksum && header_is_good)
      add(stated.name, fmt::format("checksum mismatch (stated {}, found {}){}", hex_of(stated.checksum),
                                   hex_of(all.value()), parts.empty() ? "" : "; its tensors are good"));
  }

  void run_over(const ReadFile& file, std::uint64_t begin, std::uint64_t end,
                std::initializer_list<Checksum*> checksums) {
    buffer_.resize(piece_bytes);
    while (begin < end) {
      const auto bytes = std::min(piece_bytes, end - begin);
      file.read(begin, buffer_.data(), bytes);
      for (auto* checksum : checksums) checksum->update(buffer_.data(), bytes);
      begin += bytes;
      report_.bytes += bytes;
      if (progress_) progress_(report_.bytes, total_);
    }
  }

  const Disk& disk_;
  const std::string directory_;
  const VerifyProgress& progress_;
  Manifest manifest_;
  std::map<std::string, Entries> entries_;  // by file
  std::uint64_t total_ = 0;
  std::vector<char> buffer_;
  VerifyReport report_;
};

}  // namespace

VerifyReport verify_checkpoint(const Disk& disk, const std::string& directory,
                               const VerifyProgress& progress) {
  return Verification(disk, directory, progress).run();
}

}  // namespace d9d
