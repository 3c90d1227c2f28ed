#include "runtime/live/live_values.hpp"

namespace d9d::live {

void LiveValues::put(const std::string& name, Value value) {
  const std::lock_guard lock(mutex_);
  values_[name] = value;
}

Values LiveValues::all() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

}  // namespace d9d::live
