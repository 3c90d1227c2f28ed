#pragma once
// Which file the memory at an address is of.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace d9d {

// Its path, as much as `name` holds; empty where it is no file's. For handlers of signals: takes no memory and no lock.
std::string_view file_mapped_at(std::uintptr_t address, std::span<char> name);

}  // namespace d9d
