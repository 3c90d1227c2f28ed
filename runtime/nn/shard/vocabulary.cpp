#include "runtime/nn/shard/vocabulary.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/where.h>

#include <numeric>

#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/memory/host_values.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/tensor/layout.hpp"

namespace d9d {
namespace {

// The rows of a table that a rank holds.
std::pair<std::int64_t, std::int64_t> rows_of_rank(std::int64_t table_rows, int ranks, int rank) {
  const Slice slice = Layout({table_rows}, {{"tp", ranks, rank, Placement::shard(0)}}).local_slice();
  return {slice.begin[0], slice.end[0]};
}

}  // namespace

VocabularyShards::VocabularyShards(ActivationShards tokens, std::vector<std::int64_t> tables)
    : tokens_(std::move(tokens)),
      tables_(std::move(tables)),
      vocab_size_(std::accumulate(tables_.begin(), tables_.end(), std::int64_t{0})) {
  std::int64_t first_of_table = 0;
  for (const std::int64_t rows : tables_) {
    firsts_.push_back(first_of_table + rows_of_rank(rows, tokens_.size(), tokens_.rank()).first);
    first_of_table += rows;
  }
  for (int rank = 0; rank < tokens_.rank(); ++rank) first_place_ += words_of(rank);
  if (tables_.size() == 1) return;
  order_ = at::empty({vocab_size_}, at::kLong);
  std::int64_t place = 0;
  for (int rank = 0; rank < tokens_.size(); ++rank) {
    first_of_table = 0;
    for (const std::int64_t rows : tables_) {
      const auto [begin, end] = rows_of_rank(rows, tokens_.size(), rank);
      order_.narrow(0, first_of_table + begin, end - begin).copy_(at::arange(place, place + end - begin));
      place += end - begin;
      first_of_table += rows;
    }
  }
}

std::int64_t VocabularyShards::words_of(int rank) const {
  std::int64_t words = 0;
  for (const std::int64_t rows : tables_) {
    const auto [begin, end] = rows_of_rank(rows, tokens_.size(), rank);
    words += end - begin;
  }
  return words;
}

// Ids below 0 stay as they are. On the host, which knows the ids and then knows their places.
at::Tensor VocabularyShards::places_of(const at::Tensor& ids) const {
  if (!order_.defined()) return ids;
  const at::Tensor here = kernels::fetch_host_values(ids);
  const at::Tensor places = at::index_select(order_, 0, here.clamp_min(0));
  return upload(at::where(here.lt(0), here, places), device_of(ids.device()));
}

at::Tensor VocabularyShards::embed(const at::Tensor& ids, at::TensorList tables,
                                   const std::optional<std::int64_t>& padding_id) const {
  at::Tensor rows = kernels::embedding_of_part(ids, tables[0], firsts_[0], vocab_size_);
  for (std::size_t i = 1; i < tables.size(); ++i) {
    rows = at::add(rows, kernels::embedding_of_part(ids, tables[i], firsts_[i], vocab_size_));
  }
  if (padding_id && rows.requires_grad()) {
    rows = at::where(at::eq(ids, *padding_id).unsqueeze(-1), rows.detach(), rows);
  }
  return tokens_.scatter_sum(rows);
}

at::Tensor VocabularyShards::loss(const at::Tensor& hidden, at::TensorList tables,
                                  const at::Tensor& labels, const at::Tensor& bias) const {
  const auto gather = [group = tokens_.group()](const at::Tensor& own) {
    const at::Tensor all = at::empty({group->size(), own.size(0), own.size(1)}, own.options());
    at::Tensor rows = all.view({-1, own.size(1)});
    group->all_gather(rows, own).wait();
    return all;
  };
  const at::Tensor all = tokens_.gather(hidden);
  const at::Tensor loss = kernels::linear_cross_entropy_of_part(all.view({-1, all.size(2)}), tables,
                                                                places_of(labels.reshape({-1})),
                                                                {first_place_, vocab_size_, gather}, -100, bias);
  return loss.view(labels.sizes());
}

at::Tensor VocabularyShards::logits(const at::Tensor& hidden, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& positions) const {
  at::Tensor all = tokens_.gather(hidden);
  if (positions) all = at::index_select(all, 1, *positions);
  return collect_words(kernels::linear(all, weight));
}

at::Tensor VocabularyShards::collect_words(const at::Tensor& own) const {
  // A gather needs equally many words of each rank. The first rank has the most,
  // so the others are padded to it.
  const std::int64_t longest = words_of(0);
  const at::Tensor padded =
      own.size(2) == longest ? own : at::constant_pad_nd(own, {0, longest - own.size(2)});
  const at::Tensor parts = collect_along(padded, 2, tokens_.group());
  std::vector<at::Tensor> rows;
  for (int rank = 0; rank < tokens_.size(); ++rank) {
    rows.push_back(parts.narrow(2, rank * longest, words_of(rank)));
  }
  const at::Tensor all = vocab_size_ == longest * tokens_.size() ? parts : at::cat(rows, 2);
  return order_.defined() ? at::index_select(all, 2, upload(order_, device_of(all.device()))) : all;
}

}  // namespace d9d
