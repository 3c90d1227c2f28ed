#include "runtime/data/source/text/ordered_work.hpp"

#include <algorithm>

namespace d9d {
namespace {

// So many tasks for each thread are under way: one that it works at, one that waits for it.
constexpr std::size_t tasks_per_thread = 2;

}  // namespace

OrderedWork::OrderedWork(std::size_t threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    threads_.emplace_back([this, i] { run(i); });
  }
}

OrderedWork::~OrderedWork() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void OrderedWork::give(std::function<void(std::size_t)> work, std::function<void()> use) {
  if (under_way_.size() == tasks_per_thread * threads_.size()) use_oldest();
  auto task = std::make_shared<Task>(std::move(work), std::move(use));
  under_way_.push_back(task);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void OrderedWork::finish() {
  while (!under_way_.empty()) use_oldest();
}

void OrderedWork::use_oldest() {
  // Taken out first, so that a task that throws is not used again by the next call.
  const std::shared_ptr<Task> task = std::move(under_way_.front());
  under_way_.pop_front();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return task->done; });
  lock.unlock();
  if (task->error) std::rethrow_exception(task->error);
  task->use();
}

void OrderedWork::run(std::size_t thread) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::shared_ptr<Task> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      task->work(thread);
    } catch (...) {
      task->error = std::current_exception();
    }
    lock.lock();
    task->done = true;
    changed_.notify_all();
  }
}

}  // namespace d9d
