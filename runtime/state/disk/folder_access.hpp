#pragma once
// Whether a folder could be made and written to, as far as that can be known without writing. No torch.

#include <string>

namespace d9d {

// Looks at the nearest folder on the way that is there. `key`: the job's key that names `folder`. Environment
// error: something on the way is no folder, or the process may not write to it.
void require_may_write(const std::string& folder, const std::string& key);

}  // namespace d9d
