#pragma once
// How often threads of this process stood still for a device, by where they were and why. A GPU runs dry while its
// host waits, so tests hold these numbers to bounds. The CPU never counts.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace d9d {

class HostWaits {
 public:
  // By place ("F", "B", "W", ..., "" outside of all) and reason (an op's name).
  using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

  static void count(const char* reason);
  // Since the last call.
  static Counts take();
  // Of one place.
  static std::uint64_t in(const Counts& counts, const std::string& place);
};

// Where this thread is, until the scope ends; scopes nest, and the inner one counts.
class WaitPlace {
 public:
  explicit WaitPlace(std::string_view name);  // of a text that lives longer
  ~WaitPlace();
  WaitPlace(const WaitPlace&) = delete;
  WaitPlace& operator=(const WaitPlace&) = delete;

 private:
  std::string_view previous_;
};

}  // namespace d9d
