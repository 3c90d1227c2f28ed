#pragma once
// The modules that own weights; what is done with them is in kernels/. Every product with a weight goes
// through one of the calls below, fused or not, so that a branch (an adapter) can be attached to any of them.

#include <functional>
#include <optional>

#include "runtime/nn/block/parameter_maker.hpp"

namespace d9d {

class ActivationShards;
class VocabularyShards;

// What an adapter adds to a linear's result: a function of the linear's input, as this rank has it. Column
// parallel: x holds all tokens, the result this rank's outputs. Row parallel: x holds this rank's inputs, the
// result is its share of the sum over the ranks.
class LinearBranch {
 public:
  virtual ~LinearBranch() = default;
  virtual at::Tensor forward(const at::Tensor& x) const = 0;
};

// weight [out, in], normal. bias [out], zero, only after add_bias: neighbours that share an input (q, k, v)
// make their weights first and their biases afterwards, so that the weights are adjacent in memory.
struct Linear : torch::nn::Module {
  Linear(ParameterMaker& make, std::int64_t in, std::int64_t out);
  // Not a parameter of its own: the weight belongs to another module, as a head's that is tied.
  explicit Linear(at::Tensor shared_weight) : weight(std::move(shared_weight)) {}
  // `name` is this module's name in its parent, whose scope `make` is in.
  void add_bias(ParameterMaker& make, const std::string& name);
  at::Tensor forward(const at::Tensor& x) const;
  // Row-parallel: x and weight hold this rank's slice of the input features. Returns this rank's tokens of
  // the summed output. Where `positions` are whole, as forward.
  at::Tensor forward_shared(const at::Tensor& x, const ActivationShards& positions) const;

  at::Tensor weight;
  at::Tensor bias;                             // undefined without
  std::shared_ptr<const LinearBranch> branch;  // null without
};

// Several linears on one x, in one product where their weights follow each other in memory. Either all of
// them have biases or none.
std::vector<at::Tensor> linear_multi(const at::Tensor& x,
                                     const std::vector<std::reference_wrapper<const Linear>>& linears);

// As LinearBranch: rows [R, in] in expert order, rows offsets[e]
// .. offsets[e + 1] are of expert e (kernels/moe.hpp).
class GroupedLinearBranch {
 public:
  virtual ~GroupedLinearBranch() = default;
  virtual at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const = 0;
};

// weight [E, out, in], normal: the same layer for each expert.
struct GroupedLinear : torch::nn::Module {
  GroupedLinear(ParameterMaker& make, std::int64_t num_groups, std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const;

  at::Tensor weight;
  std::shared_ptr<const GroupedLinearBranch> branch;  // null without
};

// y = x / sqrt(mean(x^2) + eps) * weight; weight [width] starts at one.
struct RmsNorm : torch::nn::Module {
  RmsNorm(ParameterMaker& make, std::int64_t width, double eps);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  double eps;
};

}  // namespace d9d
