#pragma once
// How blocks make their parameters. Each parameter is registered with its module, and listed in the
// stage with its global name, layout and initial distribution. The order of the calls is the order in
// the flat buffers, so a block decides which weights are adjacent in memory. Values are not initialised
// here: initial_weights.hpp draws them.

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class ParameterMaker {
 public:
  // Normal parameters start with standard deviation `stddev`.
  ParameterMaker(at::ScalarType dtype, at::Device device, float stddev);

  at::Tensor normal(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape);
  at::Tensor constant(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape, float value);

  // Zeros [N, width], vectors of experts or of buckets of distances (ParameterRole::vectors).
  at::Tensor vectors(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape);

  // A persistent buffer of fp32 zeros (StageBuffer), whatever the dtype of the parameters.
  at::Tensor buffer(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape);
  // Starts with the logarithms of uniform numbers between below_max / 1600 and below_max.
  at::Tensor log_uniform(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape,
                         float below_max);

  // Makes a child module whose parameters have the prefix `<scope>.<name>.`. M's
  // constructor gets this maker, then `args`.
  template <class M, class... Args>
  std::shared_ptr<M> child(torch::nn::Module& owner, const std::string& name, Args&&... args) {
    return owner.register_module(
        name, within(name, [&] { return std::make_shared<M>(*this, std::forward<Args>(args)...); }));
  }

  // Calls `act` and returns its result. Parameters that it makes have the prefix `<scope>.<name>.`.
  template <class Act>
  auto within(const std::string& name, Act&& act) {
    const std::size_t length = scope_.size();
    scope_ += name + ".";
    auto result = act();
    scope_.resize(length);
    return result;
  }

  const std::vector<StageParameter>& parameters() const { return parameters_; }
  const std::vector<StageBuffer>& buffers() const { return buffers_; }

 private:
  at::Tensor make(torch::nn::Module& owner, const std::string& name, at::IntArrayRef shape, Initial initial);

  at::ScalarType dtype_;
  at::Device device_;
  float stddev_;
  std::string scope_;
  std::vector<StageParameter> parameters_;
  std::vector<StageBuffer> buffers_;
};

// A module that only groups others under a name.
struct ModuleGroup : torch::nn::Module {
  explicit ModuleGroup(ParameterMaker& /*make*/) {}
};

}  // namespace d9d
