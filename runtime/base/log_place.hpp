#pragma once
// The place that lines of this thread carry, readable, and the step in it.

#include <cstdint>
#include <string>

namespace d9d::log {

// While alive, the innermost Place (log.hpp) of this thread has this step; it is read when a line is written,
// so it may change meanwhile, on this thread. 0: none yet.
class StepOfPlace {
 public:
  explicit StepOfPlace(const std::uint64_t& step);
  ~StepOfPlace();
  StepOfPlace(const StepOfPlace&) = delete;
  StepOfPlace& operator=(const StepOfPlace&) = delete;

 private:
  const std::uint64_t* before_;
};

// "rank_executor/0, step 5", "rank_executor/0" without a step, nothing outside of a Place.
std::string place();

}  // namespace d9d::log
