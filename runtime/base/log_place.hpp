#pragma once
// Reads the place that lines of this thread carry, and sets the step in it.

#include <cstdint>
#include <string>

namespace d9d::log {

// Gives the innermost Place (log.hpp) of this thread a step while it is alive. The step is read
// when a line is written, so this thread may change it meanwhile. 0: no step yet.
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
