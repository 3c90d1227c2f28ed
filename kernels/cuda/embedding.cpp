#include "kernels/cuda/embedding.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/host_values.hpp"

namespace d9d::cuda {
namespace {

// Ids of a batch come from the host, which still knows them; it waits for those that it does not know.
void check_ids(const at::Tensor& ids, int64_t vocab_size) {
  const at::Tensor here = kernels::fetch_host_values(ids).contiguous();
  const auto* const id = static_cast<const int64_t*>(here.const_data_ptr());
  for (int64_t i = 0; i < here.numel(); ++i) {
    TORCH_CHECK_INDEX(id[i] >= 0 && id[i] < vocab_size, "embedding: id ", id[i], " at position ", i,
                      " is outside the table of ", vocab_size, " rows");
  }
}

kernels::EmbeddedRows embedding(const at::Tensor& ids, const at::Tensor& weight, int64_t first,
                                int64_t vocab_size) {
  const c10::DeviceGuard guard(weight.device());
  check_ids(ids, vocab_size);
  const at::Tensor dense = ids.contiguous();
  at::Tensor rows = dense;
  if (weight.size(0) != vocab_size) {
    rows = at::empty(dense.sizes(), dense.options());
    check_launch(rows_of_ids({.count = dense.numel(),
                              .ids = dense.const_data_ptr<int64_t>(),
                              .first = first,
                              .table_rows = weight.size(0),
                              .rows = data_of<int64_t>(rows)},
                             stream_of(weight)),
                 "embedding");
  }
  auto sizes = rows.sizes().vec();
  sizes.push_back(weight.size(1));
  at::Tensor embedded = at::empty(sizes, weight.options().requires_grad(false));
  check_launch(gather({.type = type_of(weight),
                       .count = rows.numel(),
                       .width = weight.size(1),
                       .rows = rows.const_data_ptr<int64_t>(),
                       .table = rows_of(weight),
                       .to = data_of(embedded)},
                      stream_of(weight)),
               "embedding");
  return {embedded, rows};
}

void embedding_dw(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& into, double beta) {
  const c10::DeviceGuard guard(grad.device());
  if (beta == 0) into.zero_();
  if (rows.numel() == 0) return;
  const auto [sorted, order] = at::sort(rows.view({-1}), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const int64_t width = grad.size(1);
  const at::Tensor partial =
      at::empty({2, segment_chunks(rows.numel()), width}, grad.options().dtype(at::kFloat));
  const at::Tensor dense = into.contiguous();
  check_launch(segment_sums({.type = type_of(grad),
                             .into_type = type_of(dense),
                             .count = rows.numel(),
                             .width = width,
                             .sorted = sorted.const_data_ptr<int64_t>(),
                             .order = order.const_data_ptr<int64_t>(),
                             .grad = grad.const_data_ptr(),
                             .partial = data_of<float>(partial),
                             .into = data_of(dense)},
                            stream_of(grad)),
               "embedding_dw");
  if (!dense.is_same(into)) into.copy_(dense);
}

}  // namespace

void add_embedding(kernels::OpTable& table) {
  table.embedding = embedding;
  table.embedding_dw = embedding_dw;
}

}  // namespace d9d::cuda
