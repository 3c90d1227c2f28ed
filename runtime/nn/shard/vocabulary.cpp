#include "runtime/nn/shard/vocabulary.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/where.h>

#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {
namespace {

Slice part_of(std::int64_t vocab_size, int ranks, int rank) {
  return Layout({vocab_size}, {{"tp", ranks, rank, Placement::shard(0)}}).local_slice();
}

}  // namespace

VocabularyShards::VocabularyShards(ActivationShards tokens, std::int64_t vocab_size)
    : tokens_(std::move(tokens)),
      vocab_size_(vocab_size),
      first_(part_of(vocab_size, tokens_.size(), tokens_.rank()).begin[0]) {}

at::Tensor VocabularyShards::embed(const at::Tensor& ids, const at::Tensor& weight,
                                   const std::optional<std::int64_t>& padding_id) const {
  at::Tensor rows = kernels::embedding_of_part(ids, weight, first_, vocab_size_);
  if (padding_id && rows.requires_grad()) {
    rows = at::where(at::eq(ids, *padding_id).unsqueeze(-1), rows.detach(), rows);
  }
  return tokens_.scatter_sum(rows);
}

at::Tensor VocabularyShards::loss(const at::Tensor& hidden, const at::Tensor& weight,
                                  const at::Tensor& labels) const {
  const auto gather = [group = tokens_.group()](const at::Tensor& own) {
    const at::Tensor all = at::empty({group->size(), own.size(0), own.size(1)}, own.options());
    at::Tensor rows = all.view({-1, own.size(1)});
    group->all_gather(rows, own);
    return all;
  };
  const at::Tensor all = tokens_.gather(hidden);
  const at::Tensor loss = kernels::linear_cross_entropy_of_part(
      all.view({-1, all.size(2)}), weight, labels.reshape({-1}), {first_, vocab_size_, gather});
  return loss.view(labels.sizes());
}

at::Tensor VocabularyShards::logits(const at::Tensor& hidden, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& positions) const {
  at::Tensor all = tokens_.gather(hidden);
  if (positions) all = at::index_select(all, 1, *positions);
  return collect_words(kernels::linear(all, weight));
}

at::Tensor VocabularyShards::collect_words(const at::Tensor& own) const {
  // Parts differ by a row at most: all are gathered as long as the first.
  const std::int64_t longest = part_of(vocab_size_, tokens_.size(), 0).end[0];
  const at::Tensor padded =
      own.size(2) == longest ? own : at::constant_pad_nd(own, {0, longest - own.size(2)});
  const at::Tensor parts = collect_along(padded, 2, tokens_.group());
  if (vocab_size_ % tokens_.size() == 0) return parts;
  std::vector<at::Tensor> rows;
  for (int rank = 0; rank < tokens_.size(); ++rank) {
    const Slice part = part_of(vocab_size_, tokens_.size(), rank);
    rows.push_back(parts.narrow(2, rank * longest, part.end[0] - part.begin[0]));
  }
  return at::cat(rows, 2);
}

}  // namespace d9d
