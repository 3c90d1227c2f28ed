#include "runtime/rank/feed/filled_rows.hpp"

#include "runtime/nn/model/document_starts.hpp"

namespace d9d {
namespace {

// Whether there is a place in a row where a document goes on from what fills up to tokens, or back.
bool is_seen(const at::Tensor& is_token, const at::Tensor& starts, bool causal) {
  const auto* const token = is_token.const_data_ptr<bool>();
  const auto* const start = starts.defined() ? starts.const_data_ptr<std::int64_t>() : nullptr;
  const std::int64_t length = is_token.size(1);
  for (std::int64_t at = 0; at < is_token.numel(); ++at) {
    const std::int64_t i = at % length;
    if (i == 0 || token[at] == token[at - 1] || (causal && !token[at])) continue;
    if (start == nullptr || start[at] != i) return true;
  }
  return false;
}

}  // namespace

at::Tensor starts_without_seen_filling(const TensorMap& batch, bool causal) {
  const auto mask = batch.find("token_mask");
  if (mask == batch.end()) return {};
  const auto found = batch.find("document_starts");
  const at::Tensor is_token = mask->second.contiguous();
  const at::Tensor starts = found == batch.end() ? at::Tensor() : found->second.contiguous();
  return is_seen(is_token, starts, causal) ? starts_apart(starts, is_token) : at::Tensor();
}

}  // namespace d9d
