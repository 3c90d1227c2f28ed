#pragma once
// Recognises by its first bytes a file that should be safetensors and is not. No disk, no torch.

#include <cstddef>
#include <string>
#include <string_view>

namespace d9d {

inline constexpr std::size_t foreign_bytes_read = 512;  // of a file, as many as it has

// Says what the file is and what to do, to be put after its name: "is a pointer of git LFS ...; run
// `git lfs pull` ...". Empty for bytes of no known kind.
std::string foreign_bytes(std::string_view head);

}  // namespace d9d
