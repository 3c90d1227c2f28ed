#pragma once
// A stage whose layers route tokens to experts. The trainer counts and balances the tokens over a
// whole step. A StageModule may implement this interface as well. Called on the stage's compute
// thread, between two steps.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace d9d {

struct RoutedTokens {
  std::int64_t layer = 0;  // of the model
  at::Tensor tokens;       // number of tokens sent to each expert; int64 [E]
};

class RoutedStage {
 public:
  virtual ~RoutedStage() = default;
  // Returns the counts of this rank since the last end_step(), in the order of the layers. Layers and
  // experts are the same on every rank of the stage.
  virtual std::vector<RoutedTokens> routed_tokens() const = 0;
  // Whether balance() changes anything; the same on every rank of the stage.
  virtual bool balances_load() const = 0;
  // Adjusts the routers. `of_all_ranks`: the counts of routed_tokens(), summed over all ranks of the stage.
  // Called once per update of the parameters.
  virtual void balance(const std::vector<RoutedTokens>& of_all_ranks) = 0;
  // Sets the counts to zero.
  virtual void end_step() = 0;
};

}  // namespace d9d
