#pragma once
// Splits work over the threads that torch computes with (at::set_num_threads), for sources that are compiled without
// OpenMP: at::parallel_for is serial in them.

#include <cstdint>
#include <functional>

namespace d9d::kernels {

// Calls f(begin, end) for ranges that make up [0, count), of `grain` numbers or more each. Returns when all have
// returned; throws what one of them threw.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& f);

}  // namespace d9d::kernels
