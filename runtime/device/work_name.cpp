#include "runtime/device/work_name.hpp"

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
  static const auto names = new Names;
  const std::lock_guard lock(names->mutex);
  return &*names->all.insert(std::move(name)).first;
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
