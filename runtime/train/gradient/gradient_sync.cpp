#include "runtime/train/gradient/gradient_sync.hpp"

#include <map>
#include <tuple>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Buckets with the same key are reduced in one order: axes to scatter over, axes to sum over, and the
// unit if it has an order of its own.
using GroupKey = std::tuple<std::vector<std::string>, std::vector<std::string>, const ShardedUnit*>;

bool each_microbatch(const GradientBucket& bucket) {
  return bucket.unit && bucket.unit->reduces_each_microbatch();
}

}  // namespace

GradientSync::GradientSync(const FlatParameters& parameters) : parameters_(parameters) {
  std::map<GroupKey, int> groups;
  for (std::size_t index = 0; index < parameters.buckets().size(); ++index) {
    const GradientBucket& bucket = parameters.buckets()[index];
    group_of_.push_back(-1);
    if (!bucket.needs_reduction()) continue;
    const ShardedUnit* const own = each_microbatch(bucket) ? bucket.unit.get() : nullptr;
    const GroupKey key{bucket.scatter_axes(), bucket.reduce_axes, own};
    const auto [group, is_new] = groups.try_emplace(key, static_cast<int>(order_.size()));
    if (is_new) order_.emplace_back();
    group_of_.back() = group->second;
    order_[static_cast<std::size_t>(group->second)].push_back(static_cast<int>(index));
  }
  begin_step();
}

void GradientSync::begin_step() {
  asked_.assign(order_.size(), 0);
  complete_.assign(parameters_.parameters().size(), false);
  left_.clear();
  pending_ = 0;
  for (const GradientBucket& bucket : parameters_.buckets()) {
    left_.push_back(static_cast<int>(bucket.segments.size()));
    pending_ += left_.back();
  }
}

// Lets the parameters of a unit that reduces each microbatch complete once more, for the next microbatch.
void GradientSync::begin_round(const GradientBucket& bucket) {
  for (const FlatSegment& segment : bucket.segments) complete_[segment.parameter] = false;
  const int index = parameters_.bucket_of(bucket.segments.front().parameter);
  left_[index] = static_cast<int>(bucket.segments.size());
  pending_ += left_[index];
  asked_[group_of_[index]] = 0;
}

std::vector<int> GradientSync::mark_complete(std::size_t parameter, bool last) {
  const int bucket = parameters_.bucket_of(parameter);
  const std::string& name = parameters_.parameters()[parameter].name;
  D9D_CHECK(bucket >= 0, "parameter {} is not trainable and has no gradient", name);
  const GradientBucket& its_bucket = parameters_.buckets()[bucket];
  if (!last && !each_microbatch(its_bucket)) return {};
  D9D_CHECK(!complete_[parameter], "the gradient of {} is complete for the second time in a step", name);
  complete_[parameter] = true;
  --pending_;
  if (--left_[bucket] > 0 || group_of_[bucket] < 0) return {};
  std::vector<int> ready = take_ready(static_cast<std::size_t>(group_of_[bucket]));
  if (!last) begin_round(its_bucket);
  return ready;
}

std::vector<int> GradientSync::take_ready(std::size_t group) {
  std::vector<int> ready;
  std::size_t& next = asked_[group];
  while (next < order_[group].size() && left_[order_[group][next]] == 0)
    ready.push_back(order_[group][next++]);
  return ready;
}

std::vector<std::string> GradientSync::incomplete(std::size_t most) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < complete_.size() && names.size() < most; ++i) {
    if (parameters_.bucket_of(i) >= 0 && !complete_[i]) names.push_back(parameters_.parameters()[i].name);
  }
  return names;
}

void reduce_gradients(const GradientBucket& bucket, Communicator& communicator) {
  at::Tensor grad = bucket.grad;
  communicator.all_reduce(grad, ReduceOp::sum).wait();
}

}  // namespace d9d
