#include "runtime/data/padding.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

at::Tensor pad_stack(std::span<const at::Tensor> rows, const Padding& padding) {
  D9D_REQUIRE(!rows.empty(), "pad_stack: there are no rows to stack");
  D9D_REQUIRE(padding.multiple_of >= 1, "pad_stack: multiple_of is {}, expected at least 1",
              padding.multiple_of);
  std::int64_t longest = 0;
  for (const at::Tensor& row : rows) {
    D9D_REQUIRE(row.dim() == 1 && row.scalar_type() == rows[0].scalar_type(),
                "pad_stack: row {} is a {} tensor of {} dimensions, expected {} of one dimension",
                &row - rows.data(), c10::toString(row.scalar_type()), row.dim(),
                c10::toString(rows[0].scalar_type()));
    longest = std::max(longest, row.size(0));
  }
  const std::int64_t length = (longest + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
  at::Tensor stacked = at::full({std::ssize(rows), length}, padding.value, rows[0].options());
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const at::Tensor& row = rows[static_cast<std::size_t>(i)];
    const std::int64_t begin = padding.side == PadSide::left ? length - row.size(0) : 0;
    stacked[i].narrow(0, begin, row.size(0)).copy_(row);
  }
  return stacked;
}

at::Tensor pad_stack(std::span<const Sample> samples, std::vector<std::int64_t> Sample::*row,
                     const Padding& padding) {
  std::vector<at::Tensor> rows;
  for (const Sample& sample : samples) rows.push_back(at::tensor(sample.*row, at::kLong));
  return pad_stack(rows, padding);
}

at::Tensor pad_token_mask(std::span<const Sample> samples, const Padding& padding) {
  std::vector<at::Tensor> rows;
  for (const Sample& sample : samples) {
    const auto length = static_cast<std::int64_t>(sample.input_ids.size());
    D9D_REQUIRE(sample.token_mask.empty() || std::ssize(sample.token_mask) == length,
                "pad_token_mask: sample {} has a token_mask of {}, expected {} or none",
                &sample - samples.data(), sample.token_mask.size(), length);
    at::Tensor& row = rows.emplace_back(at::full({length}, true, at::kBool));
    if (!sample.token_mask.empty()) std::ranges::copy(sample.token_mask, row.mutable_data_ptr<bool>());
  }
  return pad_stack(rows, {.value = false, .side = padding.side, .multiple_of = padding.multiple_of});
}

}  // namespace d9d
