#pragma once
// The same work in several threads, until it is done or one of them fails.

#include <functional>

namespace d9d {

// Calls `work` in `threads` threads, this one among them, and waits for all. When one throws, `cancel` is
// called, which should make the others return, and the first exception is thrown from here.
void in_threads(int threads, const std::function<void()>& work, const std::function<void()>& cancel);

}  // namespace d9d
