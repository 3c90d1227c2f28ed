#include "runtime/nn/attention/delta_cache.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

namespace d9d {

std::vector<DeltaCache::Group> DeltaCache::equal_stretches(const NewTokens& tokens) {
  std::vector<Group> groups;
  std::int64_t token = 0;
  for (const kernels::CacheStretch& stretch : tokens.stretches) {
    if (groups.empty() || groups.back().count != stretch.count)
      groups.push_back({token, stretch.count, {}, {}});
    groups.back().sequences.push_back(stretch.sequence);
    if (stretch.past == 0) groups.back().begun.push_back(stretch.sequence);
    token += stretch.count;
  }
  return groups;
}

// [B, taps - 1 + count, H, W]: for each stretch the inputs before it, followed by its own.
at::Tensor DeltaCache::with_last(std::size_t input, const at::Tensor& x, const NewTokens& tokens,
                                 const Group& group) {
  if (last_.size() <= input) last_.resize(input + 1);
  at::Tensor& last = last_[input];
  if (!last.defined()) last = at::zeros(cached_inputs(size_, taps_, x.size(2), x.size(3)), x.options());
  if (!group.begun.empty()) last.index_fill_(0, tokens.indices(group.begun, last.device()), 0);
  const at::Tensor& sequences = tokens.indices(group.sequences, last.device());
  const auto stretches = static_cast<std::int64_t>(group.sequences.size());
  const at::Tensor own = x.narrow(1, group.first, stretches * group.count)
                             .reshape({stretches, group.count, x.size(2), x.size(3)});
  const at::Tensor all = at::cat({last.index_select(0, sequences), own}, 1);
  last.index_copy_(0, sequences, all.narrow(1, group.count, taps_ - 1));
  return all;
}

// Concatenates the results and appends zeros for filling tokens.
at::Tensor DeltaCache::joined(std::vector<at::Tensor> results, const at::Tensor& like) {
  std::int64_t tokens = 0;
  for (const at::Tensor& result : results) tokens += result.size(1);
  if (tokens < like.size(1))
    results.push_back(at::zeros({1, like.size(1) - tokens, like.size(2), like.size(3)}, like.options()));
  return results.size() == 1 ? results[0] : at::cat(results, 1);
}

at::Tensor DeltaCache::states(at::IntArrayRef sizes, const at::Tensor& like, const NewTokens& tokens) {
  if (!states_.defined())
    states_ = at::zeros(cached_states(size_, sizes[0], sizes[1], sizes[2]), like.options());
  for (const kernels::CacheStretch& stretch : tokens.stretches) {
    if (stretch.past == 0) states_.select(0, stretch.sequence).zero_();
  }
  return states_;
}

}  // namespace d9d
