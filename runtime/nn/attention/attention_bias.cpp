#include "runtime/nn/attention/attention_bias.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <vector>

#include "kernels/attention/distance_bias.hpp"
#include "kernels/rows.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"

namespace d9d {
namespace {

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
    const at::Tensor slopes = at::tensor(slopes_, at::kDouble).view({1, -1, 1, 1});
    const std::int64_t last_query = scores.first_query + scores.queries - 1;
    const at::Tensor distances = at::arange(-last_query, scores.keys - scores.first_query, at::kDouble);
    const at::Tensor values = distances.abs().mul(slopes).neg();
    made_ = upload(values.to(kernels::sum_dtype(scores.dtype)), device_of(scores.device));
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
  std::vector<std::int64_t> buckets;
  const std::int64_t first = -(scores.first_query + scores.queries - 1);
  for (std::int64_t distance = first; distance < scores.keys - scores.first_query; ++distance)
    buckets.push_back(kernels::distance_bucket(distance, buckets_, longest_, both_ways_));
  const at::Tensor of_columns = at::arange(buckets_).unsqueeze(1) == at::tensor(buckets, at::kLong);
  made_ = upload(of_columns.to(kernels::sum_dtype(scores.dtype)), device_of(scores.device));
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
