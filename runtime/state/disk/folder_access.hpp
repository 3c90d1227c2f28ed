#pragma once
// Checks whether a folder could be made and written to, as far as permissions tell
// without writing. No torch.

#include <string>

namespace d9d {

// Checks the nearest existing folder on the path of `folder`. `key` is the job's key that names
// `folder`. Environment error: a part of the path is no folder, or the process may not write to it.
void require_may_write(const std::string& folder, const std::string& key);

}  // namespace d9d
