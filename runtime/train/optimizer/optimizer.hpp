#pragma once
// Optimizers over flat parameters. One pass over each family's buffers scales the gradients, updates the
// parameters and clears the gradients. State and arithmetic are fp32 (fp64 for fp64 parameters) unless
// options say otherwise. A trainable parameter that got no gradient is updated as with gradient zero.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/layout.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"
#include "runtime/train/optimizer/optimizer_provider.hpp"

namespace d9d {

// The kind of a state entry: the float32 copy of a 16-bit parameter.
inline constexpr std::string_view master_weight_kind = "master_weight";

// State that is kept in a narrower dtype than checkpoints have.
class NarrowState {
 public:
  virtual ~NarrowState() = default;
  // Returns the values to save, as a new flat tensor.
  virtual at::Tensor unpack() const = 0;
  // Takes saved values. The result of unpack() must become the same state again, bit for bit.
  virtual void pack(const at::Tensor& values) const = 0;
  // The tensors that hold the state.
  virtual std::vector<at::Tensor> memory() const { return {}; }
};

// One tensor of the training state, as a checkpoint names it.
struct StateEntry {
  std::string kind;  // "param", "master_weight", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer"
  std::string name;  // of the parameter
  const Layout* layout = nullptr;
  at::Tensor tensor;    // a view of this rank's block; for packed state only its shape and saved dtype
  bool frozen = false;  // a parameter that does not train
  std::shared_ptr<const NarrowState> packed = nullptr;  // null: `tensor` holds the values
};
// Copy the entry's values to a new tensor on their device, and back into the entry from any device.
at::Tensor saved_values(const StateEntry& entry);
void load_values(const StateEntry& entry, const at::Tensor& values);

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Makes one update. Gradients are zero afterwards.
  virtual void step(const UpdateScale& scale) = 0;

  // Updates made so far; part of the state.
  std::int64_t step_count() const { return step_count_; }
  virtual void set_step_count(std::int64_t count) { step_count_ = count; }
  // Sets the count after `steps` steps. `skipped`: of each update of a step, how often it was not made.
  virtual void resume(std::int64_t steps, const std::vector<std::uint64_t>& skipped);

  // All parameters (frozen ones too), each followed by the optimizer's state of it if it is trainable.
  virtual std::vector<StateEntry> state_entries() const = 0;

 protected:
  std::int64_t step_count_ = 0;
};

// Makes an optimizer. `parameters` must outlive it and must have its values already: masters
// begin as copies of them. Input error for impossible options, and for stochastic AdamW on
// parameters that are not bf16 on the CPU.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const FlatParameters& parameters,
                                          const OptimizerContext& context = {});

}  // namespace d9d
