#include "runtime/data/pad_stack.hpp"

#include <ATen/ops/full.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

at::Tensor pad_stack_1d(std::span<const at::Tensor> rows, const at::Scalar& pad_value, PadSide side,
                        std::optional<std::int64_t> pad_to_multiple_of) {
  D9D_REQUIRE(!rows.empty(), "there are no rows to stack");
  D9D_REQUIRE(pad_to_multiple_of.value_or(1) >= 1, "pad_to_multiple_of = {}, expected at least 1",
              *pad_to_multiple_of);
  std::int64_t length = 0;
  for (const at::Tensor& row : rows) {
    D9D_REQUIRE(row.dim() == 1, "a row of shape [{}], expected one dimension", fmt::join(row.sizes(), ", "));
    length = std::max(length, row.size(0));
  }
  if (pad_to_multiple_of)
    length = (length + *pad_to_multiple_of - 1) / *pad_to_multiple_of * *pad_to_multiple_of;
  at::Tensor out = at::full({static_cast<std::int64_t>(rows.size()), length}, pad_value, rows[0].options());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t begin = side == PadSide::left ? length - rows[i].size(0) : 0;
    out.select(0, static_cast<std::int64_t>(i)).narrow(0, begin, rows[i].size(0)).copy_(rows[i]);
  }
  return out;
}

}  // namespace d9d
