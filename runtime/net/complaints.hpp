#pragma once
// Warnings that a stranger can provoke: the first ones of a while are written, the others counted.

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
