#pragma once
// What all optimizers share: which stretch of which buffer is updated with which settings, and the state
// buffers beside the parameters. Internal to train/.

#include <functional>
#include <string>
#include <vector>

#include "runtime/train/optimizer.hpp"

namespace d9d {

// Settings of a parameter after the rules.
struct ParameterSettings {
  double lr_factor = 1;
  double weight_decay = 0;
  bool operator==(const ParameterSettings&) const = default;
};
ParameterSettings settings_of(const std::string& name, const std::vector<ParameterRule>& rules,
                              double weight_decay);
// `*` matches any run of characters, `?` one.
bool matches(const std::string& pattern, const std::string& name);

// A stretch of a family with the same settings; what lies between its parameters is zero and stays so.
struct FlatRun {
  std::size_t family = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ParameterSettings settings;
};

// A state tensor beside every family's data, of the same length.
struct StateBuffers {
  std::string kind;
  std::vector<at::Tensor> of_family;
};

class FlatOptimizer : public Optimizer {
 public:
  std::vector<StateEntry> state_entries() const override;

 protected:
  FlatOptimizer(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                double weight_decay);

  // `dtype`: none means fp32, or fp64 for a family of fp64.
  void add_state(const std::string& kind, std::optional<at::ScalarType> dtype = {});
  // Index into the states in the order they were added.
  at::Tensor state(std::size_t index, const FlatRun& run) const {
    return part(states_[index].of_family, run);
  }
  at::Tensor data(const FlatRun& run) const;
  at::Tensor grad(const FlatRun& run) const;

  const FlatParameters& parameters_;
  std::vector<FlatRun> runs_;

 private:
  static at::Tensor part(const std::vector<at::Tensor>& of_family, const FlatRun& run);
  std::vector<StateBuffers> states_;
};

std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, const FlatParameters& parameters,
                                     const std::vector<ParameterRule>& rules);
std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, const FlatParameters& parameters,
                                    const std::vector<ParameterRule>& rules);
std::unique_ptr<Optimizer> make_stochastic_adamw(const StochasticAdamWOptions& options,
                                                 const FlatParameters& parameters,
                                                 const std::vector<ParameterRule>& rules);

}  // namespace d9d
