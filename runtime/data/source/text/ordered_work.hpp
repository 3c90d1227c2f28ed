#pragma once
// Runs work on several threads and uses the results in the order in which the work was
// given, on the thread that gives it. Bounded: give() waits while too much is under way, and
// workers wait for work.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace d9d {

class OrderedWork {
 public:
  explicit OrderedWork(std::size_t threads);  // at least 1
  ~OrderedWork();                             // drops work that has not begun
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  std::size_t threads() const { return threads_.size(); }

  // Queues `work`, which gets the number of the thread that runs it. `use` runs in a later give()
  // or in finish(). If `work` throws, that call throws the exception instead of running `use`.
  void give(std::function<void(std::size_t thread)> work, std::function<void()> use);
  // Waits for all work under way and runs its `use`.
  void finish();

 private:
  struct Task {
    std::function<void(std::size_t)> work;
    std::function<void()> use;
    bool done = false;
    std::exception_ptr error;
  };
  void run(std::size_t thread);
  void use_oldest();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> waiting_;    // not begun
  std::deque<std::shared_ptr<Task>> under_way_;  // oldest first, done or not; the giver's alone
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace d9d
