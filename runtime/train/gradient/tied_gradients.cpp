#include "runtime/train/gradient/tied_gradients.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {
namespace {

bool are_alike(const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& last) {
  if (first.size() != last.size()) return false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].numel() != last[i].numel() || first[i].scalar_type() != last[i].scalar_type()) return false;
  }
  return true;
}

}  // namespace

TiedGradients::TiedGradients(const FlatParameters& parameters,
                             const std::function<std::shared_ptr<Communicator>()>& open_other) {
  for (const FlatFamily& family : parameters.families()) {
    if (family.tied_copy) copies_.at(static_cast<std::size_t>(*family.tied_copy)).push_back(family.grad);
  }
  const auto& [first, last] = copies_;
  if (first.empty() != last.empty()) other_ = open_other();
  D9D_REQUIRE(other_ || are_alike(first, last),
              "the first and the last stage share weights that differ in size, type or in what trains; "
              "parameters() of both have to list them alike");
}

void TiedGradients::sum() const {
  const auto& [first, last] = copies_;
  if (!other_) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i].add_(last[i]);
      last[i].copy_(first[i]);  // and no second sum, so that both copies have the same bits
    }
    return;
  }
  for (at::Tensor gradients : first.empty() ? last : first) {
    if (gradients.numel() > 0) other_->all_reduce(gradients, ReduceOp::sum).wait();
  }
}

}  // namespace d9d
