#include <ATen/ops/full.h>

#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/optimizer/adamw_pass.hpp"

namespace d9d::kernels::cpu {
namespace {

constexpr int64_t block = int64_t{1} << 16;

void adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq, const AdamWSettings& settings) {
  const AdamWPass pass = adamw_pass(settings);
  at::parallel_for(0, param.numel(), block, [&](int64_t begin, int64_t end) {
    flat_loop_table().adamw(end - begin, pass, data_of<float>(param) + begin, data_of<float>(grad) + begin,
                            data_of<float>(exp_avg) + begin, data_of<float>(exp_avg_sq) + begin);
  });
}

at::Tensor sum_of_squares(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  const int64_t count = tensor.numel(), blocks = (count + block - 1) / block;
  std::vector<double> partial(static_cast<std::size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * block, size = std::min(block, count - first);
      partial[static_cast<std::size_t>(i)] =
          is_float ? flat_loop_table().sum_of_squares(size, data_of<float>(tensor) + first)
                   : flat_loop_table().sum_of_squares_bf16(size, data_of<Bf16>(tensor) + first);
    }
  });
  double total = 0;
  for (const double part : partial) total += part;
  return at::full({1}, total, at::kDouble);
}

}  // namespace

void add_optimizer(OpTable& table) {
  table.adamw_step = adamw_step;
  table.sum_of_squares = sum_of_squares;
}

}  // namespace d9d::kernels::cpu
