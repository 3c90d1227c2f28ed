#include "runtime/rank/feed/context_split.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max.h>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

at::Tensor take(const at::Tensor& x, const std::vector<TokenRange>& ranges) {
  std::vector<at::Tensor> parts;
  for (const TokenRange& range : ranges) parts.push_back(x.narrow(1, range.first, range.count));
  return at::cat(parts, 1);
}

}  // namespace

TensorMap split_sequence(TensorMap batch, const ContextPlace& place) {
  if (place.ranks == 1) return batch;
  const auto found = batch.find("input_ids");
  D9D_REQUIRE(found != batch.end() && found->second.dim() == 2,
              "the batch has no input_ids [batch, sequence], so its sequences cannot be shared by {} ranks; "
              "set mesh.context_parallel_shard and context_parallel_replicate to 1",
              place.ranks);
  const at::Tensor ids = found->second;
  const std::int64_t length = ids.size(1), unit = length_unit(place.order, place.ranks);
  D9D_REQUIRE(length % unit == 0,
              "sequences of {} cannot be dealt out to {}: the length must be divisible by {}; pad to {}",
              counted(length, "token"), counted(place.ranks, "context-parallel rank"), unit,
              (length + unit - 1) / unit * unit);
  if (!batch.contains("position_ids")) {
    batch["position_ids"] = at::arange(length, ids.options()).expand_as(ids);
  }
  batch["sequence_length"] = at::add(at::max(batch.at("position_ids")), 1);
  const std::vector<TokenRange> ranges = tokens_of(place.order, place.rank, place.ranks, length);
  batch["places_in_rows"] = take(at::arange(length, at::kLong).unsqueeze(0), ranges).squeeze(0);
  for (auto& [name, tensor] : batch) {
    const bool by_token =
        tensor.dim() >= 2 && tensor.sizes().slice(0, 2) == ids.sizes() && name != "document_starts";
    if (by_token) tensor = take(tensor, ranges);
  }
  return batch;
}

}  // namespace d9d
