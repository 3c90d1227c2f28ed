#pragma once
// What a file is that should be safetensors and is not, told by its first bytes. No disk, no torch.

#include <cstddef>
#include <string>
#include <string_view>

namespace d9d {

inline constexpr std::size_t foreign_bytes_read = 512;  // of a file, as many as it has

// "is a pointer of git LFS ...; run `git lfs pull` ...": what it is and the remedy, to stand behind the file's
// name. Empty where the bytes are of no known kind.
std::string foreign_bytes(std::string_view head);

}  // namespace d9d
