#pragma once
// Finds the file that is mapped at an address.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace d9d {

// Returns the path, cut to the size of `name`; empty when no file is mapped there. Allocates nothing and
// takes no lock, so that signal handlers may call it.
std::string_view file_mapped_at(std::uintptr_t address, std::span<char> name);

}  // namespace d9d
