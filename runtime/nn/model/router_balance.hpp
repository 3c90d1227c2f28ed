#pragma once
// The losses on routing that are added to a model's loss. Load balancing (Switch Transformer, Fedus et al.
// 2021, arXiv 2101.03961, eq. 4 to 6, as in transformers): weight * E * sum over experts e of f_e P_e, with
// f_e the choices of e per token and P_e the mean of the router's softmax for e. z-loss (ST-MoE, Zoph et al.
// 2022, arXiv 2202.08906, eq. 5): z_weight * mean of (log sum exp z)^2 of the router's logits z. All means
// are over all layers with experts and all tokens of the microbatch, without positions that fill its rows
// up. Layers on other stages and tokens on other ranks count: the sums travel from stage to stage beside the
// hidden states, and the last stage adds them over the ranks that share the tokens.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/nn/size/model_description.hpp"

namespace d9d {

class RouterBalance {
 public:
  explicit RouterBalance(const BalanceOptions& options) : options_(options) {}

  bool wanted() const { return (options_.weight != 0 || options_.z_weight != 0) && options_.layers > 0; }
  // Returns the sums before the first layer, zeros fp32 [3, E] (ExpertBlock::take_router_sums).
  at::Tensor no_sums(const at::Tensor& like) const;
  // Sets the ranks that hold other tokens of the same sequences; null: none.
  void set_sequence_group(SharedCommunicator group) { sequence_group_ = std::move(group); }
  // Returns the loss, one element, the same on all ranks. `sums`: of all layers, over this rank's tokens.
  // `tokens`: how many these are, equally many on every rank; none when rows are filled up, and then derived
  // from the number of choices. `shards`: the ranks of tensor parallelism, which hold other tokens.
  at::Tensor loss(const at::Tensor& sums, std::optional<std::int64_t> tokens,
                  const ActivationShards& shards) const;

 private:
  at::Tensor masked_loss(const at::Tensor& sums) const;

  BalanceOptions options_;
  SharedCommunicator sequence_group_;
};

}  // namespace d9d
