#pragma once

#include <ATen/ops/zeros.h>

#include "kernels/cpu/dispatch.hpp"

namespace d9d::kernels::cpu {

// Returns the sum over all rows, [width]. f(begin, end, partial) must add the sum over rows begin ..
// end to partial [width]. Chunks have a fixed size and are added in order, so the bits do not depend on
// the number of threads.
template <class S, class F>
at::Tensor reduce_rows(int64_t rows, int64_t width, const at::TensorOptions& options, F&& f) {
  constexpr int64_t chunk = 128;
  const int64_t chunks = std::max<int64_t>(1, (rows + chunk - 1) / chunk);
  at::Tensor partial = at::zeros({chunks, width}, options);
  S* sums = data_of<S>(partial);
  for_rows(chunks, chunk * width, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * chunk, std::min(rows, (i + 1) * chunk), sums + i * width);
  });
  for (int64_t i = 1; i < chunks; ++i) loop_table<S>().add_row(width, sums + i * width, sums);
  return partial[0];
}

}  // namespace d9d::kernels::cpu
