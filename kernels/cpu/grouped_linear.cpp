#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

void grouped_product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                     const at::Tensor& offsets, bool transposed) {
  const auto* offset = data_of<int64_t>(offsets);
  TORCH_CHECK(offset[weight.size(0)] == in.size(0), "grouped_linear: the last offset is ",
              offset[weight.size(0)], " but there are ", in.size(0), " rows");
  for (int64_t e = 0; e < weight.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    if (count == 0) continue;
    matmul(out.narrow(0, begin, count), in.narrow(0, begin, count), transposed ? weight[e].t() : weight[e],
           0);
  }
}

void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta) {
  const auto* offset = data_of<int64_t>(offsets);
  for (int64_t e = 0; e < into.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    matmul(into[e], grad.narrow(0, begin, count).t(), in.narrow(0, begin, count), beta);
  }
}

}  // namespace

void add_grouped_linear(OpTable& table) {
  table.grouped_product = grouped_product;
  table.grouped_dw = grouped_dw;
}

}  // namespace d9d::kernels::cpu
