#include "runtime/state/checkpoint/checkpoint_commit.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/tensor_file/safetensors_header.hpp"

namespace d9d {
namespace {

const std::string prefix = "save-";
const std::string temporary_mark = ".tmp-";

std::optional<std::uint64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return {};
  std::uint64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stopped, status] = std::from_chars(name.data() + prefix.size(), end, step);
  if (status != std::errc() || stopped != end || checkpoint_name(step) != name) return {};
  return step;
}

std::string parent_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// The sizes of the files in a folder are those of the manifest, and there are no others.
void require_files(const Disk& disk, const std::string& directory, const Manifest& manifest) {
  std::map<std::string, std::uint64_t> present;
  for (const auto& entry : disk.list(directory)) present[entry.name] = entry.size;
  for (const auto& file : manifest.files) {
    const auto found = present.find(file.name);
    if (found == present.end())
      throw Error(ErrorKind::environment, fmt::format("{} is missing", join_path(directory, file.name)));
    if (found->second != file.bytes)
      throw Error(ErrorKind::environment,
                  fmt::format("{} has {} bytes, the manifest says {}", join_path(directory, file.name),
                              found->second, file.bytes));
  }
}

bool holds_tensors(const Manifest& manifest, const std::string& name) {
  return std::any_of(manifest.entries.begin(), manifest.entries.end(),
                     [&](const ManifestEntry& entry) { return entry.file == name; });
}

// The tensors of a damaged file whose bytes are wrong, so that the user sees how much is lost.
std::string damaged_tensors(const ReadFile& file, const Manifest& manifest, const std::string& name) {
  if (!holds_tensors(manifest, name)) return "it holds no tensors, but an export would not be the run's";
  SafetensorsHeader header;
  try {
    header = read_safetensors_header(file);
  } catch (const Error& error) {
    return fmt::format("its header is broken: {}", error.what());
  }
  std::string names;
  for (const auto& entry : manifest.entries) {
    if (entry.file != name) continue;
    const auto stored = header.tensors.find(entry.tensor_name());
    const bool good = stored != header.tensors.end() &&
                      checksum_of(file, stored->second.offset, stored->second.spec.bytes()) == entry.checksum;
    if (!good)
      names += fmt::format("{}\"{}\"", names.empty() ? "wrong bytes in tensor " : ", ", entry.tensor_name());
  }
  return names.empty() ? "wrong bytes in its header" : names;
}

void require_contents(const Disk& disk, const std::string& directory, const Manifest& manifest) {
  for (const auto& stated : manifest.files) {
    const auto file = disk.open(join_path(directory, stated.name));
    const auto found = checksum_of(*file, 0, file->size());
    if (found != stated.checksum)
      throw Error(ErrorKind::environment, fmt::format("{}: checksum mismatch (stated {}, found {}); {}",
                                                      file->path(), hex_of(stated.checksum), hex_of(found),
                                                      damaged_tensors(*file, manifest, stated.name)));
  }
}

}  // namespace

std::string checkpoint_name(std::uint64_t step) {
  return prefix + std::to_string(step);
}

std::string temporary_name(std::uint64_t step, const std::string& random_tag) {
  return checkpoint_name(step) + temporary_mark + random_tag;
}

void commit_checkpoint(Disk& disk, const std::string& temporary, const std::string& final,
                       const Manifest& manifest) {
  require_complete(manifest);
  require_files(disk, temporary, manifest);
  write_text(disk, join_path(temporary, manifest_name), to_json(manifest));
  disk.sync_directory(temporary);
  const bool replaces = disk.exists(final);
  if (replaces)
    disk.exchange(temporary, final);
  else
    disk.rename(temporary, final);
  disk.sync_directory(parent_of(final));
  if (replaces) disk.remove_all(temporary);
}

std::vector<FoundCheckpoint> find_checkpoints(const Disk& disk, const std::string& directory) {
  std::vector<FoundCheckpoint> found;
  if (!disk.exists(directory)) return found;
  for (const auto& entry : disk.list(directory))
    if (const auto step = step_of(entry.name); step && entry.is_directory)
      found.push_back({*step, join_path(directory, entry.name)});
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

std::optional<std::string> damage_of(const Disk& disk, const FoundCheckpoint& checkpoint, Check check) {
  try {
    const auto manifest = read_manifest(disk, checkpoint.path);
    D9D_REQUIRE(manifest.step == checkpoint.step, "{} holds the manifest of step {}", checkpoint.path,
                manifest.step);
    require_complete(manifest);
    require_files(disk, checkpoint.path, manifest);
    if (check == Check::contents) require_contents(disk, checkpoint.path, manifest);
  } catch (const DiskError& error) {
    // A file that is gone is damage, as long as the folder it is missing from is there.
    if (!error.is_missing() || !disk.exists(checkpoint.path)) throw;
    return error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

namespace {

std::optional<std::string> damage_of_readable(const Disk& disk, const FoundCheckpoint& checkpoint,
                                              Check check) {
  try {
    return damage_of(disk, checkpoint, check);
  } catch (const DiskError& error) {
    throw Error(ErrorKind::environment,
                fmt::format("the checkpoint {} cannot be read: {}", checkpoint.path, error.what()));
  }
}

bool is_good(const Disk& disk, const FoundCheckpoint& checkpoint) {
  try {
    return !damage_of(disk, checkpoint, Check::sizes);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

CheckpointSearch newest_good_checkpoint(const Disk& disk, const std::string& directory, Check check) {
  CheckpointSearch search;
  for (const auto& candidate : find_checkpoints(disk, directory)) {
    const auto damage = damage_of_readable(disk, candidate, check);
    if (!damage) {
      search.checkpoint = candidate;
      return search;
    }
    search.refused.push_back(fmt::format("checkpoint {} is damaged: {}", candidate.path, *damage));
    search.damaged.push_back(candidate);
    log::warn("{}; trying the checkpoint before it", search.refused.back());
  }
  return search;
}

std::vector<std::string> remove_stale(Disk& disk, const std::string& directory) {
  std::vector<std::string> removed;
  if (!disk.exists(directory)) return removed;
  for (const auto& entry : disk.list(directory)) {
    const auto mark = entry.name.find(temporary_mark);
    if (mark == std::string::npos || !entry.is_directory || !step_of(entry.name.substr(0, mark))) continue;
    disk.remove_all(join_path(directory, entry.name));
    removed.push_back(entry.name);
  }
  return removed;
}

std::vector<std::string> rotate_checkpoints(Disk& disk, const std::string& directory, std::size_t num_to_keep,
                                            const std::set<std::uint64_t>& damaged_steps,
                                            std::optional<std::uint64_t> also_kept) {
  std::vector<std::string> removed;
  std::size_t kept = 0;
  for (const auto& found : find_checkpoints(disk, directory)) {
    if (damaged_steps.contains(found.step) || !is_good(disk, found)) continue;
    if (++kept <= num_to_keep || found.step == also_kept) continue;
    const auto hidden = join_path(directory, temporary_name(found.step, "removed"));
    disk.remove_all(hidden);
    disk.rename(found.path, hidden);
    disk.remove_all(hidden);
    removed.push_back(checkpoint_name(found.step));
  }
  return removed;
}

}  // namespace d9d
