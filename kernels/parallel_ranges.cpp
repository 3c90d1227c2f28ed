#include "kernels/parallel_ranges.hpp"

#include <ATen/Parallel.h>

namespace d9d::kernels {

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& f) {
  at::parallel_for(0, count, grain, f);
}

}  // namespace d9d::kernels
