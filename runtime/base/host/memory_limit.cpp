#include "runtime/base/host/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "runtime/base/host/control_groups.hpp"

namespace d9d {

std::uint64_t usable_memory(std::uint64_t of_host, const std::filesystem::path& root) {
  std::uint64_t least = of_host;
  for (const ControlGroup& group : control_groups("memory", root)) {
    std::ifstream file(group.folder / (group.second ? "memory.max" : "memory.limit_in_bytes"));
    std::uint64_t limit = 0;  // "max" reads as none
    if (file >> limit && limit > 0) least = std::min(least, limit);
  }
  return least;
}

std::uint64_t usable_memory() {
  return usable_memory(static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace d9d
