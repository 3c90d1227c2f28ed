#include <ATen/ops/mm.h>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/ops/backend.hpp"

namespace d9d::kernels::cpu {
namespace {

bool multiplies_by_library() {
  const GroupedBackend chosen = backends().grouped_product;
  TORCH_CHECK(chosen != GroupedBackend::library,
              "products of experts: the CPU has no backend `library`; choose own, expert_by_expert or auto "
              "(node.grouped_product, D9D_GROUPED_PRODUCT)");
  return chosen == GroupedBackend::expert_by_expert;
}

// out = a b + beta out, summed in sum_dtype.
void multiply(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double beta) {
  if (!multiplies_by_library()) {
    matmul(out, a, b, beta);
    return;
  }
  const auto sums = sum_dtype(a.scalar_type());
  const at::Tensor product = at::mm(a.to(sums), b.to(sums));
  beta == 0 ? out.copy_(product) : out.add_(product);
}

void grouped_product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                     const at::Tensor& offsets, bool transposed) {
  const auto* offset = data_of<int64_t>(offsets);
  TORCH_CHECK(offset[weight.size(0)] == in.size(0), "grouped_linear: the last offset is ",
              offset[weight.size(0)], " but there are ", in.size(0), " rows");
  for (int64_t e = 0; e < weight.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    if (count == 0) continue;
    multiply(out.narrow(0, begin, count), in.narrow(0, begin, count), transposed ? weight[e].t() : weight[e],
             0);
  }
}

void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta) {
  const auto* offset = data_of<int64_t>(offsets);
  for (int64_t e = 0; e < into.size(0); ++e) {
    const int64_t begin = offset[e], count = offset[e + 1] - begin;
    multiply(into[e], grad.narrow(0, begin, count).t(), in.narrow(0, begin, count), beta);
  }
}

}  // namespace

void add_grouped_linear(OpTable& table) {
  table.grouped_product = grouped_product;
  table.grouped_dw = grouped_dw;
}

}  // namespace d9d::kernels::cpu
