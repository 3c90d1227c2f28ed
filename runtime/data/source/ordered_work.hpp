#pragma once
// Work done by several threads whose results are used in the order in which it was given, by the thread that
// gives it. Bounded: giver and workers wait for each other.

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
  explicit OrderedWork(std::size_t threads);  // at least one
  ~OrderedWork();                             // work that has not begun is left out
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  std::size_t threads() const { return threads_.size(); }

  // `work` runs on the thread of the number it gets; `use` runs in a later give() or in finish(), and throws
  // what `work` threw in its place.
  void give(std::function<void(std::size_t thread)> work, std::function<void()> use);
  // Uses what is still under way.
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
  std::deque<std::shared_ptr<Task>> waiting_;    // for a thread
  std::deque<std::shared_ptr<Task>> under_way_;  // from the oldest, done or not; the giver's alone
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace d9d
