#pragma once
// The newest numbers of a run, and they in the text format that Prometheus reads ("Exposition formats", 0.0.4).

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

// Keeps the newest value of each number of a run. One thread writes, others read.
class LiveValues {
 public:
  void put(const std::string& name, Value value);
  Values all() const;

 private:
  mutable std::mutex mutex_;
  Values values_;
};

inline constexpr const char* prometheus_type = "text/plain; version=0.0.4";

// Writes d9d_step{run="NAME"}, d9d_asleep (1 while the job sleeps, else 0) and a gauge for each
// value: d9d_loss{run="NAME"}. A name with a `/` belongs to a task or an evaluation and may have
// any character, so it becomes a label: d9d_metric{run="NAME",name="metrics/accuracy"}.
std::string prometheus_text(const std::string& run, const Values& values, bool is_asleep);

}  // namespace d9d::live
