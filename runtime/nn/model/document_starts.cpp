#include "runtime/nn/model/document_starts.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"

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

at::Tensor starts_apart(const at::Tensor& starts, const at::Tensor& is_token) {
  const at::Tensor mask = is_token.contiguous();
  const at::Tensor apart = starts.defined() ? starts.clone() : at::zeros(mask.sizes(), at::kLong);
  const auto* const token = mask.const_data_ptr<bool>();
  auto* const start = apart.mutable_data_ptr<std::int64_t>();
  const std::int64_t length = mask.size(1);
  for (std::int64_t at = 0; at < mask.numel(); ++at) {
    const std::int64_t i = at % length;
    if (i == 0 || start[at] == i) continue;
    start[at] = token[at] == token[at - 1] ? start[at - 1] : i;
  }
  return apart;
}

at::Tensor starts_without_filling(const at::Tensor& starts, const TensorMap& shared,
                                  const at::Tensor& position_ids, bool shares_sequences) {
  const auto found = shared.find("token_mask");
  if (found == shared.end() || shares_sequences) return starts;
  D9D_REQUIRE(found->second.scalar_type() == at::kBool && found->second.sizes() == position_ids.sizes(),
              "token_mask is a {} tensor of {} elements, expected bool for {} tokens",
              c10::toString(found->second.scalar_type()), found->second.numel(), position_ids.numel());
  const at::Tensor mask = kernels::fetch_host_values(found->second);
  if (mask.all().item<bool>()) return starts;
  const at::Tensor known = starts.defined() ? kernels::fetch_host_values(starts) : starts;
  return upload(starts_apart(known, mask), device_of(position_ids.device()));
}

}  // namespace d9d
