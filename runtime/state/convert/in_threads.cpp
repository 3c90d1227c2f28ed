#include "runtime/state/convert/in_threads.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace d9d {

void in_threads(int threads, const std::function<void()>& work, const std::function<void()>& cancel) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      cancel();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(guarded);
    guarded();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace d9d
