#pragma once
// The function by which a caller measures communication. No torch in this header.

#include <cstdint>
#include <functional>
#include <string>

namespace d9d {

// Must call `work` exactly once, on the calling thread, and may measure it. `name`: the operation and its
// group, e.g. "all_to_all tp[0,1]".
using TraceHook =
    std::function<void(const std::string& name, std::uint64_t bytes, const std::function<void()>& work)>;

}  // namespace d9d
