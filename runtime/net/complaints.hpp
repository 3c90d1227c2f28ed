#pragma once
// Logs warnings that a stranger can provoke: at most five in ten seconds. Counts the others
// and logs their number.

#include <chrono>
#include <string>

namespace d9d::net {

class Complaints {
 public:
  void add(const std::string& text);

 private:
  std::chrono::steady_clock::time_point since_{};
  int written_ = 0;
  int counted_ = 0;
};

}  // namespace d9d::net
