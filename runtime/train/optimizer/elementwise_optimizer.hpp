#pragma once
// An optimizer of a plugin as one function that updates a run of elements. This class adds the rest: rules
// for single parameters, float32 masters of bfloat16 weights or their stochastic rounding, states that a checkpoint
// holds and any mesh reads. The function must treat each element by itself; then it works on every shard. For other
// optimizers derive from FlatOptimizer.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/train/optimizer/flat_optimizer.hpp"

namespace d9d {

// Parameters that are adjacent in memory and have the same settings. All tensors are flat and of one length.
struct ElementUpdate {
  at::Tensor values;               // fp32 or fp64; changed in place
  at::Tensor gradients;            // scaled, in the dtype of the states; zeroed afterwards
  std::vector<at::Tensor> states;  // fp32 (fp64 for fp64 parameters), zero at first; changed in place
  double lr = 0;                   // of this step, with schedule and rules applied
  ParameterSettings settings;      // weight decay and betas after the rules
  std::int64_t step = 0;           // from 1
};

struct ElementwiseOptions {
  double lr = 0;
  double weight_decay = 0;
  std::vector<ParameterRule> rules;
  std::vector<std::string> states;  // their names in checkpoints
  std::function<void(const ElementUpdate&)> update;
  // bfloat16 weights have no masters: what the function makes of them is rounded to bfloat16 with noise
  // (kernels/optimizer/stochastic_copy.hpp), on every mesh to the same bits. Saves 4 bytes for each weight.
  bool stochastic_rounding = false;
  std::uint64_t seed = 0;  // of the noise
};

class ElementwiseOptimizer final : public FlatOptimizer {
 public:
  ElementwiseOptimizer(ElementwiseOptions options, const FlatParameters& parameters);
  void step(const UpdateScale& scale) override;

 private:
  bool rounds(const FlatRun& run) const;
  void round(const at::Tensor& values, const FlatRun& run) const;

  const ElementwiseOptions options_;
};

}  // namespace d9d
