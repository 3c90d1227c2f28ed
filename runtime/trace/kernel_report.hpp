#pragma once
// Lists the kernels that devices ran, in steps whose kernels are recorded (Category::kernel).

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
  // Sums over ranks' steps: the time from the first kernel of each step to its last, and the part
  // of it in which any stream runs a kernel.
  std::int64_t observed = 0, busy = 0;
  std::int64_t total() const;
};

// Empty without kernels.
KernelReport report_kernels(const Recording& recording);

}  // namespace d9d::trace
