#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/gemm.hpp"

namespace d9d::kernels {
namespace {

// rows x columns of storage as fp32, gathered.
at::Tensor storage_of(const GemmInput& input, int64_t rows, int64_t columns) {
  const auto dtype = input.bf16 ? at::kBFloat16 : at::kFloat;
  int64_t last = rows - 1;
  if (input.rows) last = *std::max_element(input.rows, input.rows + rows);
  const at::Tensor all = at::from_blob(const_cast<void*>(input.data), {last + 1, columns}, {input.stride, 1},
                                       at::TensorOptions(dtype));
  if (!input.rows) return all.to(at::kFloat);
  const at::Tensor index =
      at::from_blob(const_cast<int64_t*>(input.rows), {rows}, at::TensorOptions(at::kLong));
  return all.index_select(0, index).to(at::kFloat);
}

at::Tensor matrix_of(const GemmInput& input, int64_t rows, int64_t columns) {
  return input.transposed ? storage_of(input, columns, rows).t() : storage_of(input, rows, columns);
}

}  // namespace

void gemm_portable(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c) {
  at::Tensor product = at::mm(matrix_of(a, m, k), matrix_of(b, k, n));
  if (c.row_scale)
    product.mul_(at::from_blob(const_cast<float*>(c.row_scale), {m, 1}, at::TensorOptions(at::kFloat)));
  const int64_t last = c.rows ? *std::max_element(c.rows, c.rows + m) : m - 1;
  at::Tensor all = at::from_blob(c.data, {last + 1, n}, {c.stride, 1},
                                 at::TensorOptions(c.bf16 ? at::kBFloat16 : at::kFloat));
  for (int64_t i = 0; i < m; ++i) {
    at::Tensor row = all[c.rows ? c.rows[i] : i];
    c.add ? row.add_(product[i]) : row.copy_(product[i]);
  }
}

}  // namespace d9d::kernels
