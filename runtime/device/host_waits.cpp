#include "runtime/device/host_waits.hpp"

#include <memory>
#include <mutex>

namespace d9d {
namespace {

// One table for the process, because an op that waits knows only its tensors.
struct Counted {
  std::mutex mutex;
  HostWaits::Counts counts;
};

Counted& counted() {
  static const auto of_process = std::make_unique<Counted>();
  return *of_process;
}

std::string_view& place_of_thread() {
  thread_local std::string_view place;
  return place;
}

}  // namespace

void HostWaits::count(const char* reason) {
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  ++all.counts[{std::string(place_of_thread()), reason}];
}

HostWaits::Counts HostWaits::take() {
  Counted& all = counted();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.counts, {});
}

std::uint64_t HostWaits::in(const Counts& counts, const std::string& place) {
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts) sum += key.first == place ? count : 0;
  return sum;
}

WaitPlace::WaitPlace(std::string_view name) : previous_(place_of_thread()) {
  place_of_thread() = name;
}

WaitPlace::~WaitPlace() {
  place_of_thread() = previous_;
}

}  // namespace d9d
