#include "runtime/state/folder_probe.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "runtime/state/disk_error.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

void try_file_in(Disk& disk, const std::string& folder) {
  const std::string probe = join_path(folder, fmt::format(".d9d-probe-{}", ::getpid()));
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
