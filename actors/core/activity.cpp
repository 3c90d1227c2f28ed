#include "actors/core/activity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace d9d {
namespace {

// A signal handler may read it, so it must not be allocated at its first use.
[[gnu::tls_model("initial-exec")]] constinit thread_local Activity* current = nullptr;

constexpr double nanosecond = 1e-9;

}  // namespace

void Activities::label(ActorId id, std::string label) {
  const std::lock_guard lock(mutex_);
  labels_[id] = std::move(label);
}

std::string Activities::name_of(ActorId id) const {
  const std::lock_guard lock(mutex_);
  const auto label = labels_.find(id);
  return label == labels_.end() ? to_string(id) : fmt::format("{} ({})", to_string(id), label->second);
}

Activity& Activities::enter(ActorId id) {
  const std::string name = name_of(id);
  const std::lock_guard lock(mutex_);
  Activity& line = lines_.emplace_back();
  const std::size_t length = std::min(name.size(), line.name.size() - 1);
  std::copy_n(name.begin(), length, line.name.begin());
  return line;
}

std::string Activities::busy(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const Activity& line : lines_) {
    const char* const message = line.message.load(std::memory_order_acquire);
    if (message == nullptr) continue;
    const double seconds = nanosecond * static_cast<double>(now_ns - line.since_ns.load());
    text += fmt::format("{}{} in {} since {:.0f} s", text.empty() ? "" : ", ", line.name.data(), message,
                        seconds);
  }
  return text;
}

Doing::Doing(Activity& activity, const char* message, std::int64_t now_ns)
    : activity_(activity),
      before_message_(activity.message.load(std::memory_order_relaxed)),
      before_(current) {
  activity_.since_ns.store(now_ns, std::memory_order_relaxed);
  activity_.message.store(message, std::memory_order_release);
  current = &activity_;
}

Doing::~Doing() {
  activity_.message.store(before_message_, std::memory_order_release);
  current = before_;
}

const Activity* current_activity() {
  return current;
}

}  // namespace d9d
