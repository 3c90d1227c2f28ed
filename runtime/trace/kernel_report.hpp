#pragma once
// What devices ran, kernel by kernel, in the steps whose kernels are on record (Category::kernel).

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

struct KernelTotal {
  std::string name;
  std::int64_t count = 0;
  std::int64_t total = 0;  // ns, of all ranks
  std::int64_t max = 0;
};

struct KernelReport {
  std::vector<KernelTotal> kernels;  // by total, the most first
  // Of ranks' steps from the first kernel of each to the last: how long they are, and how long any stream runs one.
  std::int64_t observed = 0, busy = 0;
  std::int64_t total() const;
};

// Empty without kernels.
KernelReport report_kernels(const Recording& recording);

}  // namespace d9d::trace
