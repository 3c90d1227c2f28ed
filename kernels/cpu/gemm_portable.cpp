#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/cpu/matmul.hpp"

namespace d9d::kernels::cpu {
namespace {

// Returns the operand as an fp32 matrix [rows, columns]: a view if its memory is one already, else a
// copy with gathered rows.
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

// Writes plain fp32 rows directly. Other outputs need a separate product, which is
// then scattered or converted.
bool is_plain(const GemmOutput& c) {
  return !c.bf16 && !c.rows && !c.row_scale;
}

template <class T>
void store(int64_t m, int64_t n, const float* product, const GemmOutput& c) {
  constexpr int64_t elements_per_part = 1 << 15;
  T* const data = static_cast<T*>(c.data);
  at::parallel_for(0, m, std::max<int64_t>(1, elements_per_part / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* const row = data + (c.rows ? c.rows[i] : i) * c.stride;
      const float* const values = product + i * n;
      const float scale = c.row_scale ? c.row_scale[i] : 1;
      if (c.add) {
        for (int64_t j = 0; j < n; ++j)
          row[j] = static_cast<T>(static_cast<float>(row[j]) + scale * values[j]);
      } else {
        for (int64_t j = 0; j < n; ++j) row[j] = static_cast<T>(scale * values[j]);
      }
    }
  });
}

}  // namespace

void gemm_portable(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c) {
  const at::Tensor left = matrix_of(a, m, k);
  const at::Tensor right = matrix_of(b, k, n);
  if (is_plain(c)) {
    at::Tensor out = at::from_blob(c.data, {m, n}, {c.stride, 1}, at::TensorOptions(at::kFloat));
    c.add ? at::addmm_out(out, out, left, right) : at::mm_out(out, left, right);
    return;
  }
  const at::Tensor product = at::mm(left, right);
  c.bf16 ? store<c10::BFloat16>(m, n, product.const_data_ptr<float>(), c)
         : store<float>(m, n, product.const_data_ptr<float>(), c);
}

}  // namespace d9d::kernels::cpu
