#pragma once
// What a rank's device has a stream for.

namespace d9d {

enum class StreamRole { compute, communicate, copy_in, copy_out };

}  // namespace d9d
