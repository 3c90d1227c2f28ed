#pragma once
// An optimizer as a job names it. A plugin derives from this and registers its name (runtime/plugin/registry.hpp);
// those that come with d9d are made of OptimizerOptions.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

class Communicator;
class FlatParameters;
class Optimizer;

// What an optimizer may need of its rank.
struct OptimizerContext {
  std::uint64_t seed = 0;  // of the job
  // The ranks of this rank's stage along these mesh axes (names of a layout's axes). Opens a communicator, so all
  // ranks of the stage call it in the same order, in make(). Empty on one rank alone.
  std::function<std::shared_ptr<Communicator>(const std::vector<std::string>& axes)> open = {};
};

class OptimizerProvider {
 public:
  virtual ~OptimizerProvider() = default;
  // At multiplier 1, for what the job reports.
  virtual double learning_rate() const = 0;
  // Once per rank, on the thread that will call step(). `parameters` outlives the optimizer and has its first
  // values. Input errors for what it cannot update.
  virtual std::unique_ptr<Optimizer> make(const FlatParameters& parameters,
                                          const OptimizerContext& context) const = 0;
  // A rule that no parameter of the model follows is refused.
  virtual std::vector<ParameterRule> rules() const { return {}; }
  // Of one that comes with d9d; null for a plugin's.
  virtual const OptimizerOptions* built_in() const { return nullptr; }
};

std::shared_ptr<const OptimizerProvider> provider_of(const OptimizerOptions& options);

}  // namespace d9d
