#pragma once
// The base of a plugin's method that changes linears: each one that a pattern matches gets a branch with parameters.
//
//   struct Ia3 final : LinearMethod {
//     std::string module_name_pattern;
//     std::string pattern() const override { return module_name_pattern; }
//     std::shared_ptr<OwnBranch> make_branch(ParameterMaker& make, Linear& linear) const override {
//       return make.child<Scale>(linear, "ia3", linear.weight.size(0));
//     }
//   };
//   add_adapter_method<Ia3>(registry, "ia3");     // runtime/plugin/own_family.hpp

#include <memory>
#include <string>
#include <vector>

#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/peft/method.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// A branch of a linear (forward(), follow()) that an export can add to the weight: a child of the linear.
class OwnBranch : public torch::nn::Module, public LinearBranch {
 public:
  // The weight [out, in] that does without the branch what it does with it. `added`: the whole values of the branch's
  // parameters, by name after the linear's ("ia3.weight"). Sums in fp32; the result has the weight's dtype. Default:
  // an input error, with which export_to is refused before the first step.
  virtual at::Tensor merged(const at::Tensor& weight, const TensorMap& added) const;
};

class LinearMethod : public PeftMethod {
 public:
  // A regular expression for whole paths, as `module_name_pattern` of lora.
  virtual std::string pattern() const = 0;
  // Makes the branch as a child of `linear`, in whose scope `make` is. Parameters of `normal` start with standard
  // deviation 0.02; the model has to be the same as without adapters until the first update.
  virtual std::shared_ptr<OwnBranch> make_branch(ParameterMaker& make, Linear& linear) const = 0;

  // Linears that have an adapter already keep it. Input error when the pattern matches experts, which have no branch.
  std::size_t inject(AdaptedModel& model) const final;
  void merge(AdaptedModel& model) const final;
};

}  // namespace d9d
