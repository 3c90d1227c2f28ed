#pragma once
// The positions of a rank's block in the global tensor, row-major. Pure integers.

#include <cstdint>
#include <vector>

#include "runtime/tensor/layout.hpp"

namespace d9d {

class GlobalIndex {
 public:
  GlobalIndex(const std::vector<std::int64_t>& global_shape, const Slice& slice);

  // Local elements [n * run(), (n + 1) * run()) are adjacent in the global tensor too.
  std::int64_t run() const { return run_; }
  // Global element of local element `run * run()`.
  std::int64_t begin_of_run(std::int64_t run) const;

 private:
  std::int64_t run_ = 1;
  std::vector<std::int64_t> outer_shape_;   // of the block, dimensions before the runs
  std::vector<std::int64_t> outer_stride_;  // in the global tensor
  std::int64_t base_ = 0;
};

}  // namespace d9d
