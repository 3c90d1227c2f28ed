#include "runtime/data/next_tokens.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "runtime/data/sample_source.hpp"

namespace d9d {
namespace {

// Shifts x [B, S] to the left by `count` and fills its end with `rest` [B, S].
at::Tensor moved(const at::Tensor& x, std::int64_t count, const at::Tensor& rest) {
  const std::int64_t length = x.size(1);
  const std::int64_t gone = std::min(count, length);
  return at::cat({x.narrow(1, gone, length - gone), rest.narrow(1, 0, gone)}, 1);
}

}  // namespace

void add_next_tokens(TensorMap& batch, std::int64_t depths) {
  if (depths == 0) return;
  const at::Tensor& ids = tensor_at(batch, "input_ids", "the batch");
  const at::Tensor& labels = tensor_at(batch, "labels", "the batch");
  const at::Tensor ignored = at::full(labels.sizes(), ignored_label, labels.options());
  const at::Tensor last = ids.narrow(1, ids.size(1) - 1, 1).expand_as(ids);
  const auto positions = batch.find("position_ids");
  const auto mask = batch.find("token_mask");
  const at::Tensor inside = mask != batch.end() ? mask->second : at::ones_like(ids, at::kBool);
  const at::Tensor none = at::zeros_like(inside);
  std::vector<at::Tensor> next_ids, next_labels, next_masks;
  for (std::int64_t k = 1; k <= depths; ++k) {
    next_ids.push_back(moved(ids, k, last));
    at::Tensor found = moved(labels, k, ignored);
    at::Tensor counts = at::logical_and(inside, moved(inside, k, none));
    if (positions != batch.end()) {
      const at::Tensor there = moved(positions->second, k, ignored);
      const at::Tensor goes_on = at::eq(there, at::add(positions->second, k));
      found = at::where(goes_on, found, ignored);
      counts = at::logical_and(counts, goes_on);
    }
    next_labels.push_back(std::move(found));
    next_masks.push_back(std::move(counts));
  }
  batch["whole_labels"] =
      at::stack({at::ne(labels, ignored_label).sum(), at::scalar_tensor(labels.size(1), labels.options())});
  batch["next_ids"] = at::stack(next_ids, -1);
  batch["next_labels"] = at::stack(next_labels, -1);
  batch["next_token_mask"] = at::stack(next_masks, -1);
}

}  // namespace d9d
