#pragma once
// Ranks of a test as threads.

#include <thread>
#include <vector>

namespace d9d::test {

// Runs `work(rank)` for each of `count` ranks, all at the same time, and waits for them.
template <class Work>
void in_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) threads.emplace_back([&, rank] { work(rank); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace d9d::test
