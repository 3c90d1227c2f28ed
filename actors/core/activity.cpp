#include "actors/core/activity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace d9d {
namespace {

// A signal handler may read it, so it must not be allocated at its first use.
[[gnu::tls_model("initial-exec")]] constinit thread_local Activity* current = nullptr;

constexpr double nanosecond = 1e-9;

// Empty: the actor handles nothing.
std::string text_of(const Activity& line, std::int64_t now_ns) {
  const char* const message = line.message.load(std::memory_order_acquire);
  if (message == nullptr) return {};
  const double seconds = nanosecond * static_cast<double>(now_ns - line.since_ns.load());
  return fmt::format("{} in {} since {:.0f} s", line.name.data(), message, seconds);
}

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
    const std::string doing = text_of(line, now_ns);
    if (!doing.empty()) text += (text.empty() ? "" : ", ") + doing;
  }
  return text;
}

std::string Activities::doing_of(ActorId id, std::int64_t now_ns) const {
  std::string name = name_of(id);
  const std::lock_guard lock(mutex_);
  for (const Activity& line : lines_) {
    if (name.substr(0, line.name.size() - 1) != line.name.data()) continue;
    if (std::string doing = text_of(line, now_ns); !doing.empty()) return doing;
  }
  return name;
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

Calling::Calling(const char* call)
    : activity_(current),
      before_(current == nullptr ? nullptr : current->message.load(std::memory_order_relaxed)) {
  if (activity_ != nullptr) activity_->message.store(call, std::memory_order_release);
}

Calling::~Calling() {
  if (activity_ != nullptr) activity_->message.store(before_, std::memory_order_release);
}

const Activity* current_activity() {
  return current;
}

}  // namespace d9d
