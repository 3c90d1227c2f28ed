#include "runtime/device/work_name.hpp"

#include <atomic>
#include <mutex>
#include <unordered_set>

namespace d9d {
namespace {

// Keeps each name for ever, because queued work may refer to it until the process ends. Names are few: the
// actions and groups of a job.
const std::string* kept(std::string name) {
  struct Names {
    std::mutex mutex;
    std::unordered_set<std::string> all;
  };
  static constinit std::once_flag once;
  static constinit std::atomic<Names*> names = nullptr;
  std::call_once(once, [] { names.store(new Names); });
  Names& kept = *names.load(std::memory_order_relaxed);
  const std::lock_guard lock(kept.mutex);
  return &*kept.all.insert(std::move(name)).first;
}

const std::string*& name_of_thread() {
  thread_local const std::string* name = kept("");
  return name;
}

}  // namespace

WorkName::WorkName(std::string_view name) : previous_(name_of_thread()) {
  name_of_thread() = kept(previous_->empty() ? std::string(name) : *previous_ + ", " + std::string(name));
}

WorkName::~WorkName() {
  name_of_thread() = previous_;
}

const std::string& WorkName::current() {
  return *name_of_thread();
}

}  // namespace d9d
