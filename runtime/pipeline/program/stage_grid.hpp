#pragma once
// A value per (stage, microbatch). It is a bug to use an index outside.

#include <cstddef>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {

template <class T>
class StageGrid {
 public:
  StageGrid(int stages, int microbatches, T initial = {})
      : stages_(stages),
        microbatches_(microbatches),
        values_(static_cast<std::size_t>(stages) * static_cast<std::size_t>(microbatches), initial) {}

  T& at(int stage, int microbatch) { return values_[index(stage, microbatch)]; }
  const T& at(int stage, int microbatch) const { return values_[index(stage, microbatch)]; }
  int stages() const { return stages_; }
  int microbatches() const { return microbatches_; }

 private:
  std::size_t index(int stage, int microbatch) const {
    D9D_CHECK(stage >= 0 && stage < stages_ && microbatch >= 0 && microbatch < microbatches_,
              "stage {} microbatch {} in a program of {} stages and {} microbatches", stage, microbatch,
              stages_, microbatches_);
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }

  int stages_;
  int microbatches_;
  std::vector<T> values_;
};

}  // namespace d9d
