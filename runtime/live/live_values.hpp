#pragma once
// Keeps the newest value of each number of a run. One thread writes, others read.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace d9d::live {

struct Value {
  double value = 0;
  std::int64_t step = 0;
};
using Values = std::map<std::string, Value>;  // by the tracker's name: "loss", "metrics/accuracy"

class LiveValues {
 public:
  void put(const std::string& name, Value value);
  Values all() const;

 private:
  mutable std::mutex mutex_;
  Values values_;
};

}  // namespace d9d::live
