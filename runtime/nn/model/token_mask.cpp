#include "runtime/nn/model/token_mask.hpp"

#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

at::Tensor own_block(const TensorMap& shared, const char* name, std::vector<std::int64_t> sizes,
                     const ActivationShards& tokens) {
  const auto found = shared.find(name);
  if (found == shared.end()) return {};
  const at::Tensor& all = found->second;
  const std::int64_t own = sizes[1];
  sizes[1] *= tokens.size();
  D9D_REQUIRE(all.scalar_type() == at::kBool && all.sizes() == at::IntArrayRef(sizes),
              "{} is a {} tensor of {} elements, expected bool for {} x {} tokens", name,
              c10::toString(all.scalar_type()), all.numel(), sizes[0], sizes[1]);
  return all.narrow(1, tokens.rank() * own, own);
}

}  // namespace

at::Tensor token_mask(const TensorMap& shared, const at::Tensor& hidden, const ActivationShards& tokens) {
  return own_block(shared, "token_mask", {hidden.size(0), hidden.size(1)}, tokens);
}

at::Tensor next_token_mask(const TensorMap& shared, const at::Tensor& hidden, std::int64_t depths,
                           const ActivationShards& tokens) {
  return own_block(shared, "next_token_mask", {hidden.size(0), hidden.size(1), depths}, tokens);
}

}  // namespace d9d
