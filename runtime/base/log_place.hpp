#pragma once
// Reads the place that lines of this thread carry, and sets the step in it.

#include <cstdint>
#include <string>
#include <string_view>

namespace d9d::log {

// Gives the innermost Place (log.hpp) of this thread a step and coordinates on the mesh while it is alive. Both outlive
// it and are read when a line is written, so this thread may change the step meanwhile. 0: no step yet.
class StepOfPlace {
 public:
  explicit StepOfPlace(const std::uint64_t& step, std::string_view coordinates = {});
  ~StepOfPlace();
  StepOfPlace(const StepOfPlace&) = delete;
  StepOfPlace& operator=(const StepOfPlace&) = delete;

 private:
  const std::uint64_t* step_before_;
  std::string_view coordinates_before_;
};

// "rank_executor/3 pp:1-tp:1, step 5", "rank_executor/0" without coordinates and step, nothing outside of a Place.
std::string place();

}  // namespace d9d::log
