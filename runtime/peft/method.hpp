#pragma once
// A method of parameter-efficient fine-tuning: it chooses which parameters of a model train, and may add
// some. A plugin's provider calls the two functions at the end of this file, as built-in models do.

#include <memory>
#include <string>
#include <vector>

#include "runtime/peft/adapted_model.hpp"
#include "runtime/peft/peft_config.hpp"

namespace d9d {

class PeftMethod {
 public:
  virtual ~PeftMethod() = default;

  // Changes the modules of a stage, adds parameters to it and marks those that train
  // (requires_grad). Returns how many modules it changed; it may be 0, because the stage of a
  // pipeline may have no matching one.
  virtual std::size_t inject(AdaptedModel& model) const = 0;
  // Adds the adapters of inject() to the weights, and removes them.
  virtual void merge(AdaptedModel& /*model*/) const {}
  // Whether the parameters of the model train before inject(); otherwise they are frozen.
  virtual bool begins_trainable() const { return false; }
};

// Makes the method. Input error when a pattern is no regular expression, and for a kind that neither d9d nor a plugin
// has.
std::unique_ptr<PeftMethod> make_peft_method(const PeftConfig& config);

// Freezes all parameters of a stage (or none, see begins_trainable) except those named in `beside`,
// such as a new head. Then injects the method, which may freeze these, too. Call it before anything is
// sharded, on every stage of the model. `beside` may contain names of other stages. Input error when
// the model supports no adapters.
void inject_peft_and_freeze(StageModule& stage, const PeftMethod& method,
                            const std::vector<std::string>& beside = {});
// Merges the adapters into the weights. Afterwards the stage has the parameters with which it was built. It
// is a bug when weights are fully sharded.
void merge_peft(StageModule& stage, const PeftMethod& method);

}  // namespace d9d
