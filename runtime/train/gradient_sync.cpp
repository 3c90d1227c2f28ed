#include "runtime/train/gradient_sync.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

GradientSync::GradientSync(const FlatParameters& parameters) : parameters_(parameters) {
  const auto groups = parameters.reduce_groups();
  order_.resize(groups.size());
  for (std::size_t bucket = 0; bucket < parameters.buckets().size(); ++bucket) {
    const auto& axes = parameters.buckets()[bucket].reduce_axes;
    const auto found = std::find(groups.begin(), groups.end(), axes);
    group_of_.push_back(found == groups.end() ? -1 : static_cast<int>(found - groups.begin()));
    if (group_of_.back() >= 0) order_[group_of_.back()].push_back(static_cast<int>(bucket));
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

std::vector<int> GradientSync::complete(std::size_t parameter) {
  const int bucket = parameters_.bucket_of(parameter);
  const std::string& name = parameters_.parameters()[parameter].name;
  D9D_CHECK(bucket >= 0, "parameter {} is not trainable and has no gradient", name);
  D9D_CHECK(!complete_[parameter], "the gradient of {} is complete for the second time in a step", name);
  complete_[parameter] = true;
  --pending_;
  if (--left_[bucket] > 0 || group_of_[bucket] < 0) return {};
  return take_ready(static_cast<std::size_t>(group_of_[bucket]));
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
  communicator.all_reduce(grad, ReduceOp::sum);
}

}  // namespace d9d
