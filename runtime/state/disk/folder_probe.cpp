#include "runtime/state/disk/folder_probe.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "runtime/state/disk/disk_error.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view probe_prefix = ".d9d-probe-";

void try_file_in(Disk& disk, const std::string& folder) {
  const std::string probe = join_path(folder, fmt::format("{}{}", probe_prefix, ::getpid()));
  constexpr std::array<char, 4096> bytes{};
  const auto file = disk.create(probe);
  try {
    file->write(0, bytes.data(), bytes.size());
    file->close(true);
  } catch (const Error&) {
    remove_quietly(disk, probe);
    throw;
  }
  disk.remove_all(probe);
}

// Of processes that were killed within a probe. One that is alive needs its file no more than this one.
void remove_left_probes(const std::string& folder) {
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (at->path().filename().string().starts_with(probe_prefix)) ::unlink(at->path().c_str());
}

template <class Try>
void explaining(const std::string& folder, const std::string& key, Try&& trying) {
  try {
    trying();
  } catch (const Error& error) {
    throw Error(ErrorKind::environment,
                fmt::format("{} is {}, and nothing can be written there: {}. Mend that, or set {} to another "
                            "folder",
                            key, folder, error.what(), key));
  }
}

}  // namespace

void require_writable(Disk& disk, const std::string& folder, const std::string& key) {
  explaining(folder, key, [&] {
    disk.make_directories(folder);
    try_file_in(disk, folder);
    remove_left_probes(folder);
  });
}

void require_creatable(Disk& disk, const std::string& folder, const std::string& key) {
  explaining(folder, key, [&] {
    fs::path nearest = fs::absolute(folder);
    while (!disk.exists(nearest.string()) && nearest.has_relative_path()) nearest = nearest.parent_path();
    try_file_in(disk, nearest.string());
  });
}

}  // namespace d9d
