#include "runtime/nn/model/document_starts.hpp"

#include <algorithm>

#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Each number must be the token's own position, or equal to the number before it.
void check_row(const std::int64_t* row, std::int64_t length, std::int64_t number) {
  for (std::int64_t i = 0; i < length; ++i) {
    D9D_REQUIRE(
        row[i] == i || (i > 0 && row[i] == row[i - 1]),
        "document_starts is {} at position {} of row {}, expected {} or the start of the token before",
        row[i], i, number, i);
  }
}

}  // namespace

at::Tensor document_starts(const TensorMap& shared, const at::Tensor& position_ids, bool shares_sequences) {
  const auto found = shared.find("document_starts");
  if (found == shared.end()) return {};
  const std::int64_t batch = position_ids.size(0), tokens = position_ids.size(1);
  const at::Tensor& given = found->second;
  D9D_REQUIRE(given.dim() == 2 && given.scalar_type() == at::kLong && given.size(0) == batch &&
                  (shares_sequences ? given.size(1) % tokens == 0 : given.size(1) == tokens),
              "document_starts is a {} tensor of {} elements, expected int64 [batch, sequence] for {} x {} "
              "tokens",
              c10::toString(given.scalar_type()), given.numel(), batch, tokens);
  const at::Tensor starts = kernels::fetch_host_values(given).contiguous();
  const auto* const first = starts.const_data_ptr<std::int64_t>();
  const std::int64_t length = starts.size(1);
  for (std::int64_t b = 0; b < batch; ++b) check_row(first + b * length, length, b);
  const bool packed =
      std::any_of(first, first + starts.numel(), [](std::int64_t start) { return start > 0; });
  return packed ? given.contiguous() : at::Tensor();
}

}  // namespace d9d
