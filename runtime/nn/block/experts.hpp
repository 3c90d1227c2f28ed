#pragma once
// The routed experts of a layer: what a token gets from those that its router has chosen.

#include <memory>
#include <vector>

#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/leaf.hpp"

namespace d9d {

class Experts : public torch::nn::Module {
 public:
  // rows [T, H], probs and experts [T, k] (kernels/moe.hpp) -> [T, H]. Choices of experts that this rank does not
  // have are outside [0, E) and add nothing. `offsets`: unless null, becomes those of the rows in expert order, which
  // say how often each expert was chosen (kernels/moe/choice_counts.hpp).
  virtual at::Tensor forward(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts,
                             at::Tensor* offsets) const = 0;
  // All parameters, each [E, ..].
  virtual std::vector<at::Tensor> weights() const = 0;
};

// gate_proj and up_proj [E, I, H], down_proj [E, H, I]: SwiGLU in each.
class SwiGluExperts final : public Experts {
 public:
  SwiGluExperts(ParameterMaker& make, const MoeOptions& options);
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts,
                     at::Tensor* offsets) const override;
  std::vector<at::Tensor> weights() const override;

 private:
  std::shared_ptr<GroupedLinear> gate_proj_, up_proj_, down_proj_;
};

// gate_up_proj [E, 2 I, H], whose even rows are gate and odd ones up, and down_proj [E, H, I], both with biases. The
// two stay one matrix because a folder has them so: a loader then cuts nothing, and one product serves both.
class ClampedExperts final : public Experts {
 public:
  ClampedExperts(ParameterMaker& make, const MoeOptions& options);
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts,
                     at::Tensor* offsets) const override;
  std::vector<at::Tensor> weights() const override;

 private:
  ClampedSwiGlu clamp_;
  std::shared_ptr<GroupedLinear> gate_up_proj_, down_proj_;
};

// The child `experts` of `owner`, as the options say.
std::shared_ptr<Experts> make_experts(ParameterMaker& make, torch::nn::Module& owner,
                                      const MoeOptions& options);

}  // namespace d9d
