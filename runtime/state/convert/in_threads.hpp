#pragma once
// Runs the same work in several threads, until it is done or one of them fails.

#include <functional>

namespace d9d {

// Calls `work` in `threads` threads, including this one, and waits for all. If one throws, `cancel`
// is called, which should make the others return; then the first exception is rethrown here.
void in_threads(int threads, const std::function<void()>& work, const std::function<void()>& cancel);

}  // namespace d9d
