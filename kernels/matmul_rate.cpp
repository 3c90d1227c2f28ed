#include "kernels/matmul_rate.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "kernels/matmul.hpp"

namespace d9d::kernels {
namespace {

constexpr std::int64_t size = 768;
constexpr int products_min = 3;
constexpr std::chrono::milliseconds patience{300};

double best_rate(at::ScalarType type) {
  using Clock = std::chrono::steady_clock;
  const at::Tensor a = at::full({size, size}, 0.5, type);
  const at::Tensor b = at::full({size, size}, 0.25, type);
  const at::Tensor c = at::empty({size, size}, type);
  matmul(c, a, b);  // not measured: it starts the threads and touches the pages
  const Clock::time_point begin = Clock::now();
  double best = 0;
  for (int product = 1;; ++product) {
    const Clock::time_point start = Clock::now();
    matmul(c, a, b);
    const Clock::time_point end = Clock::now();
    best = std::max(best, 2.0 * size * size * size / std::chrono::duration<double>(end - start).count());
    if (product >= products_min && end - begin > patience) return best;
  }
}

}  // namespace

double matmul_rate(c10::ScalarType type, int threads) {
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16, "matmul_rate: the rate of ", type,
              " is not measured");
  // Measures on a thread of its own, because the number of threads is a setting of the calling thread.
  return std::async(std::launch::async,
                    [&] {
                      at::set_num_threads(threads);
                      return best_rate(type);
                    })
      .get();
}

}  // namespace d9d::kernels
