#pragma once
// The factory of the optimizer that a job names. A plugin derives from it and registers a name
// (runtime/plugin/registry.hpp). provider_of() makes that of d9d's own optimizers.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

class Communicator;
class FlatParameters;
class Optimizer;

// The things that an optimizer may need from its rank.
struct OptimizerContext {
  std::uint64_t seed = 0;  // of the job
  // Opens a communicator of the ranks of this rank's stage along these mesh axes (names of a layout's axes).
  // All ranks of the stage must call it in the same order, in make(). Empty when the job has one rank.
  std::function<std::shared_ptr<Communicator>(const std::vector<std::string>& axes)> open = {};
};

class OptimizerProvider {
 public:
  virtual ~OptimizerProvider() = default;
  // The learning rate at multiplier 1, for reports of the job.
  virtual double learning_rate() const = 0;
  // Makes the optimizer. Called once per rank, on the thread that will call step().
  // `parameters` outlives the optimizer and has its first values. Throw an input error for
  // parameters that the optimizer cannot update.
  virtual std::unique_ptr<Optimizer> make(const FlatParameters& parameters,
                                          const OptimizerContext& context) const = 0;
  // The job is refused when a rule matches no parameter of the model.
  virtual std::vector<ParameterRule> rules() const { return {}; }
  // The options of d9d's own optimizer; null for a plugin's.
  virtual const OptimizerOptions* built_in() const { return nullptr; }
};

std::shared_ptr<const OptimizerProvider> provider_of(const OptimizerOptions& options);

}  // namespace d9d
