#pragma once
// The modules that own weights; the maths is in kernels/. Every product with a weight goes through one of the
// calls below, so that a branch (an adapter) can be attached to any of them.

#include <functional>

#include "kernels/linear.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/parameter_maker.hpp"

namespace d9d {

class ActivationShards;
class VocabularyShards;

// The parameters of a branch, as strategies see them.
class Branch {
 public:
  virtual ~Branch() = default;
  // Places the branch's parameters (runtime/nn/shard/placing.hpp) such that forward() keeps its contract.
  // Called after tensor and expert parallelism have placed the linear's weight. Default: they stay whole.
  virtual void follow(const StageParameter& /*weight*/, std::vector<StageParameter>& /*parameters*/) const {}
};

// An adapter turns a linear into scale * (weight x) + added + bias.
struct BranchResult {
  at::Tensor added = {};  // undefined: nothing
  at::Tensor scale = {};  // one factor for each output feature; undefined: 1
};

// A branch of a Linear. It sees the linear's input on this rank. In a column-parallel linear x holds all
// tokens, and the result this rank's output features. In a row-parallel one x holds this rank's input
// features, and `added` is this rank's summand of the sum over ranks.
class LinearBranch : public Branch {
 public:
  virtual BranchResult forward(const at::Tensor& x) const = 0;
  // Returns the two factors of a branch that is nothing but their product; the linear then computes it along
  // with its own. Undefined for any other branch.
  virtual kernels::LowRankTerm low_rank() const { return {}; }
};

// weight [out, in], starts normal. bias [out], starts at zero, exists after add_bias(): linears that share an
// input (q, k, v) make their weights first and their biases afterwards, so that the weights are adjacent.
struct Linear : torch::nn::Module {
  Linear(ParameterMaker& make, std::int64_t in, std::int64_t out);
  // Shares the parameter of another module, for example of a tied embedding.
  explicit Linear(at::Tensor shared_weight) : weight(std::move(shared_weight)) {}
  // `make`: in the scope of the parent. `name`: this module's name there.
  void add_bias(ParameterMaker& make, const std::string& name);
  at::Tensor forward(const at::Tensor& x) const;
  // Row-parallel: x and weight hold this rank's slice of the input features. Returns this rank's tokens of
  // the summed output. The same as forward() when `positions` are whole.
  at::Tensor forward_shared(const at::Tensor& x, const ActivationShards& positions) const;

  at::Tensor weight;
  at::Tensor bias;                             // undefined without add_bias()
  std::shared_ptr<const LinearBranch> branch;  // null without
};

// Applies several linears to one x, in one product when their weights are adjacent in memory. Either all
// of them have a bias or none has.
std::vector<at::Tensor> linear_multi(const at::Tensor& x,
                                     const std::vector<std::reference_wrapper<const Linear>>& linears);

// What an adapter adds to a grouped linear. rows [R, in] are in expert order: expert e has the rows from
// offsets[e] to offsets[e + 1] (kernels/moe.hpp).
class GroupedLinearBranch : public Branch {
 public:
  virtual at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const = 0;
};

// weight [E, out, in], normal: the same layer for each expert. bias [E, out], starts at zero, where it is asked for.
struct GroupedLinear : torch::nn::Module {
  GroupedLinear(ParameterMaker& make, std::int64_t num_groups, std::int64_t in, std::int64_t out,
                bool has_bias = false);
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const;

  at::Tensor weight;
  at::Tensor bias;                                    // undefined without
  std::shared_ptr<const GroupedLinearBranch> branch;  // null without
};

// y = x / sqrt(mean(x^2) + eps) * weight; weight [width] starts at one. Zero-centred: the weight is
// stored minus 1, so it starts at zero. Of kind layer: of x minus its mean (kernels/norm.hpp); never zero-centred.
struct RmsNorm : torch::nn::Module {
  RmsNorm(ParameterMaker& make, std::int64_t width, double eps, bool zero_centered = false,
          NormKind kind = NormKind::root_mean_square);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  double eps;
  bool zero_centered;
  NormKind kind;
};

}  // namespace d9d
