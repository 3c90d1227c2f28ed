#include "runtime/nn/attention/attention_bias.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstdlib>

#include "kernels/attention/distance_bias.hpp"
#include "kernels/rows.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"

namespace d9d {
namespace {

// f(column, key - query) for the columns of a bias by distance.
template <class F>
void for_distances(const BiasedScores& scores, F&& f) {
  const std::int64_t last_query = scores.first_query + scores.queries - 1;  // column 0: to key 0
  for (std::int64_t column = 0; column < scores.queries + scores.keys - 1; ++column)
    f(column, column - last_query);
}

bool same_distances(const BiasedScores& a, const BiasedScores& b) {
  return a.first_query == b.first_query && a.queries == b.queries && a.keys == b.keys &&
         a.device == b.device && a.dtype == b.dtype;
}

}  // namespace

AlibiBias::AlibiBias(std::int64_t heads) : slopes_(kernels::alibi_slopes(heads)) {}

void AlibiBias::shard(TensorParallel& tensor) {
  const auto share = std::ssize(slopes_) / tensor.size(), first = tensor.rank() * share;
  slopes_ = std::vector(slopes_.begin() + first, slopes_.begin() + first + share);
  made_ = at::Tensor();
}

kernels::ScoreBias AlibiBias::of(const BiasedScores& scores) const {
  D9D_CHECK(scores.first_head + scores.heads <= std::ssize(slopes_), "ALiBi of {} heads has {} slopes",
            scores.first_head + scores.heads, slopes_.size());
  if (!made_.defined() || !same_distances(made_for_, scores)) {
    const auto width = scores.queries + scores.keys - 1;
    const at::Tensor values =
        at::empty({1, std::ssize(slopes_), 1, width}, at::TensorOptions(kernels::sum_dtype(scores.dtype)));
    for (std::int64_t head = 0; head < std::ssize(slopes_); ++head) {
      for_distances(scores, [&, row = values[0][head][0]](std::int64_t column, std::int64_t distance) {
        const double value =
            -slopes_[static_cast<std::size_t>(head)] * static_cast<double>(std::abs(distance));
        if (scores.dtype == at::kDouble) {
          row.mutable_data_ptr<double>()[column] = value;
        } else {
          row.mutable_data_ptr<float>()[column] = static_cast<float>(value);
        }
      });
    }
    made_ = upload(values, device_of(scores.device));
    made_for_ = scores;
  }
  return {made_.narrow(1, scores.first_head, scores.heads), /*by_distance=*/true};
}

BucketBias::BucketBias(ParameterMaker& make, torch::nn::Module& owner, const AttentionOptions& options)
    : buckets_(options.bias_buckets),
      longest_(options.bias_longest),
      both_ways_(!options.causal),
      table_(make.vectors(owner, "relative_attention_bias", {options.bias_buckets, options.num_heads})) {
  const std::int64_t exact = (both_ways_ ? buckets_ / 2 : buckets_) / 2;
  D9D_REQUIRE(exact >= 1 && longest_ > exact,
              "a bias of {} buckets up to a distance of {}: expected at least {} buckets, and a distance "
              "above the {} that have a bucket each",
              buckets_, longest_, both_ways_ ? 4 : 2, exact);
}

void BucketBias::shard(TensorParallel& tensor) {
  tensor.shard(table_, 1);
}

at::Tensor BucketBias::columns(const BiasedScores& scores) const {
  if (made_.defined() && same_distances(made_for_, scores)) return made_;
  const at::Tensor bucket =
      at::zeros({buckets_, scores.queries + scores.keys - 1}, at::TensorOptions(at::kFloat));
  auto* const element = bucket.mutable_data_ptr<float>();
  for_distances(scores, [&](std::int64_t column, std::int64_t distance) {
    element[kernels::distance_bucket(distance, buckets_, longest_, both_ways_) * bucket.size(1) + column] = 1;
  });
  made_ = upload(bucket.to(kernels::sum_dtype(scores.dtype)), device_of(scores.device));
  made_for_ = scores;
  return made_;
}

kernels::ScoreBias BucketBias::of(const BiasedScores& scores) const {
  const at::Tensor all = kernels::bucketed_bias(table_, columns(scores));
  return {all.narrow(1, scores.first_head, scores.heads), /*by_distance=*/true};
}

std::shared_ptr<AttentionBias> make_position_bias(ParameterMaker& make, torch::nn::Module& owner,
                                                  const AttentionOptions& options) {
  switch (options.position_bias) {
    case PositionBias::alibi:
      return std::make_shared<AlibiBias>(options.num_heads);
    case PositionBias::buckets:
      return std::make_shared<BucketBias>(make, owner, options);
    case PositionBias::none:
      break;
  }
  return nullptr;
}

}  // namespace d9d
