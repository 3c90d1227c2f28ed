#pragma once
// Counts how often threads of this process waited for a device, by the place in the program and the reason.
// A GPU may run out of work while its host waits, so tests set limits to these numbers. Waits on the CPU
// device do not count.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace d9d {

class HostWaits {
 public:
  // By place ("F", "B", "W", ..., "" outside of every WaitPlace) and reason (an op's name).
  using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

  static void count(const char* reason);
  // Returns the counts since the last call.
  static Counts take();
  // Returns the sum of one place.
  static std::uint64_t in(const Counts& counts, const std::string& place);
};

// Names the place of this thread's waits until the scope ends. Scopes nest; the inner one counts.
class WaitPlace {
 public:
  explicit WaitPlace(std::string_view name);  // the text must outlive the scope
  ~WaitPlace();
  WaitPlace(const WaitPlace&) = delete;
  WaitPlace& operator=(const WaitPlace&) = delete;

 private:
  std::string_view previous_;
};

}  // namespace d9d
