#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/expert_order.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {

// Sorts the choices by counting. The sort is stable, so an expert's rows are in token order.
ExpertOrder expert_order(const at::Tensor& experts, int64_t num_experts) {
  const at::Tensor choices = experts.contiguous();
  ExpertOrder order{at::zeros({num_experts + 1}, choices.options()),
                    at::empty(choices.sizes(), choices.options())};
  const auto* chosen = data_of<int64_t>(choices);
  auto* offsets = data_of<int64_t>(order.offsets);
  auto* map = data_of<int64_t>(order.map);
  const auto valid = [&](int64_t e) { return e >= 0 && e < num_experts; };
  for (int64_t i = 0; i < choices.numel(); ++i) {
    if (valid(chosen[i])) ++offsets[chosen[i] + 1];
  }
  for (int64_t e = 0; e < num_experts; ++e) offsets[e + 1] += offsets[e];
  const at::Tensor next_of_expert = order.offsets.clone();
  auto* next = data_of<int64_t>(next_of_expert);
  for (int64_t i = 0; i < choices.numel(); ++i) map[i] = valid(chosen[i]) ? next[chosen[i]]++ : -1;
  order.num_rows = offsets[num_experts];
  return order;
}

namespace {

at::Tensor choice_owners(const at::Tensor& experts, int64_t per_owner) {
  const at::Tensor choices = experts.contiguous();
  at::Tensor owners = at::empty(choices.sizes(), choices.options());
  const int64_t top_k = choices.size(1);
  const auto* chosen = data_of<int64_t>(choices);
  auto* owner = data_of<int64_t>(owners);
  for (int64_t token = 0; token < choices.size(0); ++token, chosen += top_k, owner += top_k) {
    for (int64_t j = 0; j < top_k; ++j) {
      const int64_t of_choice = chosen[j] / per_owner;
      owner[j] = std::find(owner, owner + j, of_choice) == owner + j ? of_choice : -1;
    }
  }
  return owners;
}

at::Tensor spread_rows(const at::Tensor& x, const at::Tensor& map, const at::Tensor& scale,
                       int64_t num_rows) {
  const at::Tensor from = as_rows(x), factors = scale.defined() ? scale.contiguous() : scale;
  const int64_t width = from.size(1), top_k = map.size(1);
  at::Tensor rows = at::empty({num_rows, width}, x.options().requires_grad(false));
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const auto source = rows_of<T>(from);
    const auto* to = data_of<int64_t>(map);
    const S* factor = data_of<S>(factors);
    for_rows(map.size(0), width * top_k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * top_k; i < end * top_k; ++i) {
        if (to[i] < 0) continue;
        loop_table<T>().scale_row(width, factor ? factor[i] : S(1), source.data + i / top_k * source.stride,
                                  data_of<T>(rows) + to[i] * width);
      }
    });
  });
  return rows;
}

at::Tensor combine_rows(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale) {
  const at::Tensor from = as_rows(rows), factors = scale.defined() ? scale.contiguous() : scale;
  const int64_t tokens = map.size(0), top_k = map.size(1), width = from.size(1);
  at::Tensor y = at::empty({tokens, width}, rows.options().requires_grad(false));
  dispatch(rows.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const Sum<T>* factor = data_of<Sum<T>>(factors);
    for_rows(tokens, width * top_k, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        loop_table<T>().combine_rows(top_k, width, rows_of<T>(from), data_of<int64_t>(map) + t * top_k,
                                     factor ? factor + t * top_k : nullptr, data_of<T>(y) + t * width);
      }
    });
  });
  return y;
}

at::Tensor row_dots(const at::Tensor& y, const at::Tensor& rows, const at::Tensor& map) {
  const at::Tensor left = as_rows(y), right = as_rows(rows);
  const int64_t top_k = map.size(1), width = right.size(1);
  at::Tensor dots =
      at::empty(map.sizes(), y.options().requires_grad(false).dtype(sum_dtype(y.scalar_type())));
  dispatch(y.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const auto a = rows_of<T>(left), b = rows_of<T>(right);
    const auto* from = data_of<int64_t>(map);
    for_rows(map.size(0), width * top_k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * top_k; i < end * top_k; ++i) {
        data_of<S>(dots)[i] = from[i] < 0 ? S(0)
                                          : loop_table<T>().dot(width, a.data + i / top_k * a.stride,
                                                                b.data + from[i] * b.stride);
      }
    });
  });
  return dots;
}

}  // namespace

void add_permute(OpTable& table) {
  table.expert_order = expert_order;
  table.choice_owners = choice_owners;
  table.spread_rows = spread_rows;
  table.combine_rows = combine_rows;
  table.row_dots = row_dots;
}

}  // namespace d9d::kernels::cpu
