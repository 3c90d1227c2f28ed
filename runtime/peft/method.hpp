#pragma once
// A method of parameter-efficient fine-tuning: chooses which parameters of a model train, and may add some. A
// plugin's provider calls the same two functions that built-in models are adapted and merged by.

#include <memory>
#include <string>
#include <vector>

#include "runtime/peft/adapted_model.hpp"
#include "runtime/peft/peft_config.hpp"

namespace d9d {

class PeftMethod {
 public:
  virtual ~PeftMethod() = default;

  // Changes the modules of a stage, adds parameters to it and marks those that train (requires_grad). Returns
  // how many modules it changed: the stage of a pipeline may have none that match.
  virtual std::size_t inject(AdaptedModel& model) const = 0;
  // Adds what inject() put beside the weights to them, and takes it away again.
  virtual void merge(AdaptedModel& /*model*/) const {}
  // Whether the parameters of the model train before inject(), or are frozen.
  virtual bool begins_trainable() const { return false; }
};

// Input error: a pattern is no regular expression.
std::unique_ptr<PeftMethod> make_peft_method(const PeftConfig& config);

// Freezes all parameters of a stage (or none, see begins_trainable) but those named in `beside`, such as a new
// head, and injects the method, which may freeze these, too. Call it before anything is sharded, on every stage of
// the model; of other stages there may be names. Input error: the model takes no adapters.
void inject_peft_and_freeze(StageModule& stage, const PeftMethod& method,
                            const std::vector<std::string>& beside = {});
// Afterwards the stage has the parameters that it was built with. Fully sharded weights are a bug.
void merge_peft(StageModule& stage, const PeftMethod& method);

}  // namespace d9d
