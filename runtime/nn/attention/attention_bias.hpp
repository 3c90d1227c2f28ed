#pragma once
// What an attention block adds to its scores: the interface, and two that say where tokens stand (AttentionOptions'
// position_bias). A model may give a block one of its own by GroupedQueryAttention::set_bias().

#include <torch/nn/module.h>

#include <memory>

#include "kernels/ops/attention_ops.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/parameter_maker.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {

// The scores that are asked for. Queries are the tokens first_query .. first_query + queries of their rows, keys the
// tokens 0 .. keys. Heads are counted from the first one of this rank.
struct BiasedScores {
  std::int64_t first_query = 0, queries = 0, keys = 0;
  std::int64_t first_head = 0, heads = 0;
  at::Device device{at::kCPU};
  at::ScalarType dtype = at::kFloat;  // of the queries
};

class AttentionBias {
 public:
  virtual ~AttentionBias() = default;
  // The bias of these scores: of sizes as ScoreBias says, with the B of the batch or 1, in float32 or the queries'
  // dtype, and on their device. Differentiable. Called on the stage's compute thread in each forward.
  virtual kernels::ScoreBias of(const BiasedScores& scores) const = 0;
  // Heads are shared by the ranks of tensor parallelism: keeps those of this rank, an even share in order, and places
  // the parameters that it has.
  virtual void shard(TensorParallel& tensor) = 0;
};

// ALiBi (Press et al. 2021): minus a head's slope times the distance, on both sides alike. No parameters.
class AlibiBias final : public AttentionBias {
 public:
  explicit AlibiBias(std::int64_t heads);
  kernels::ScoreBias of(const BiasedScores& scores) const override;
  void shard(TensorParallel& tensor) override;

 private:
  std::vector<double> slopes_;  // of this rank's heads
  mutable BiasedScores made_for_;
  mutable at::Tensor made_;  // for the last scores that were asked for
};

// T5's relative position bias (Raffel et al. 2019): a parameter relative_attention_bias [buckets, heads] of the block
// `owner`, as transformers' relative_attention_bias.weight; kernels::distance_bucket() says which row is whose. It
// starts at zero.
class BucketBias final : public AttentionBias {
 public:
  BucketBias(ParameterMaker& make, torch::nn::Module& owner, const AttentionOptions& options);
  kernels::ScoreBias of(const BiasedScores& scores) const override;
  void shard(TensorParallel& tensor) override;

 private:
  at::Tensor columns(const BiasedScores& scores) const;

  const std::int64_t buckets_, longest_;
  const bool both_ways_;
  at::Tensor table_;  // [buckets, heads of this rank]
  mutable BiasedScores made_for_;
  mutable at::Tensor made_;  // 1 where the bucket of a row is that of a column's distance
};

// Null without a position_bias.
std::shared_ptr<AttentionBias> make_position_bias(ParameterMaker& make, torch::nn::Module& owner,
                                                  const AttentionOptions& options);

}  // namespace d9d
