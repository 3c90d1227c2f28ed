#include <ATen/ops/empty.h>

#include <cstring>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// The index of a token whose row is on another rank.
constexpr int64_t elsewhere = -1;

// Turns contiguous ids of a vocabulary of `vocab_size` into row indices of the part
// [first, first + rows).
at::Tensor rows_of_ids(const at::Tensor& ids, int64_t first, int64_t rows, int64_t vocab_size) {
  const auto* id = static_cast<const int64_t*>(ids.const_data_ptr());
  for (int64_t i = 0; i < ids.numel(); ++i) {
    TORCH_CHECK_INDEX(id[i] >= 0 && id[i] < vocab_size, "embedding: id ", id[i], " at position ", i,
                      " is outside the table of ", vocab_size, " rows");
  }
  if (rows == vocab_size) return ids;
  at::Tensor index = at::empty(ids.sizes(), ids.options());
  auto* row = static_cast<int64_t*>(index.data_ptr());
  for (int64_t i = 0; i < ids.numel(); ++i) {
    row[i] = id[i] >= first && id[i] < first + rows ? id[i] - first : elsewhere;
  }
  return index;
}

at::Tensor lookup(const at::Tensor& rows, const at::Tensor& weight) {
  auto sizes = rows.sizes().vec();
  sizes.push_back(weight.size(1));
  at::Tensor result = at::empty(sizes, weight.options().requires_grad(false));
  const auto* index = static_cast<const int64_t*>(rows.const_data_ptr());
  const int64_t bytes = weight.size(1) * weight.element_size();
  const int64_t stride = weight.stride(0) * weight.element_size();
  const auto* from = static_cast<const char*>(weight.const_data_ptr());
  auto* to = static_cast<char*>(result.data_ptr());
  for_rows(rows.numel(), weight.size(1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (index[i] == elsewhere) {
        std::memset(to + i * bytes, 0, static_cast<std::size_t>(bytes));
      } else {
        std::memcpy(to + i * bytes, from + index[i] * stride, static_cast<std::size_t>(bytes));
      }
    }
  });
  return result;
}

EmbeddedRows embedding(const at::Tensor& ids, const at::Tensor& weight, int64_t first, int64_t vocab_size) {
  const at::Tensor rows = rows_of_ids(ids.contiguous(), first, weight.size(0), vocab_size);
  return {lookup(rows, weight), rows};
}

// Adds tokens one after the other, so that each row is summed in a fixed order.
// Threads divide the columns.
// ids [count], grad [count, width], into [V, width] dense.
template <class T, class G>
void scatter_add(const int64_t* ids, int64_t count, int64_t width, Rows<const T> grad, G* into) {
  at::parallel_for(0, width, std::max<int64_t>(64, 65536 / std::max<int64_t>(1, count)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t token = 0; token < count; ++token) {
                       if (ids[token] == elsewhere) continue;
                       loop_table<T>().add_row(end - begin, grad.data + token * grad.stride + begin,
                                               into + ids[token] * width + begin);
                     }
                   });
}

void embedding_dw(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& into, double beta) {
  if (beta == 0) into.zero_();
  dispatch(grad.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const bool in_place = into.scalar_type() == sum_dtype(grad.scalar_type()) && into.is_contiguous();
    const at::Tensor sums = in_place ? into : into.to(sum_dtype(grad.scalar_type())).contiguous();
    scatter_add<T, S>(data_of<int64_t>(rows), rows.numel(), grad.size(1), rows_of<T>(grad), data_of<S>(sums));
    if (!in_place) into.copy_(sums);
  });
}

}  // namespace

void add_embedding(OpTable& table) {
  table.embedding = embedding;
  table.embedding_dw = embedding_dw;
}

}  // namespace d9d::kernels::cpu
