#pragma once
// What all optimizers share, those of plugins too: the ranges of the flat buffers with their settings, and the
// state buffers beside the parameters, which checkpoints keep and any mesh reads.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

// A stretch of a family with the same settings; gaps between its parameters are zero and stay zero.
struct FlatRun {
  std::size_t family = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ParameterSettings settings;
};

// A state tensor beside every family's data, of the same length; undefined beside one that has no such state.
struct StateBuffers {
  std::string kind;
  std::vector<at::Tensor> of_family;
};

// Which parameters an optimizer updates, where two of them share a stage.
using ParameterFilter = std::function<bool(const StageParameter&)>;

class FlatOptimizer : public Optimizer {
 public:
  std::vector<StateEntry> state_entries() const override;

 protected:
  // Without a filter it updates all parameters. Runs and state are only those of what it updates.
  FlatOptimizer(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                double weight_decay, ParameterFilter filter = {});

  // `dtype`: none means fp32, or fp64 for a family of fp64.
  void add_state(const std::string& kind, std::optional<at::ScalarType> dtype = {});
  // Index into the states in the order they were added.
  at::Tensor state(std::size_t index, const FlatRun& run) const {
    return part(states_[index].of_family, run);
  }
  // Float32 copies of the parameters of 16 bits, as they are now. They are updated instead of the parameters.
  void add_masters();
  at::Tensor data(const FlatRun& run) const;
  at::Tensor grad(const FlatRun& run) const;
  // What an update changes: the masters, or the parameters where there are none.
  at::Tensor values(const FlatRun& run) const;
  // After an update: the masters, rounded to nearest, are the parameters.
  void round_masters(const FlatRun& run) const;

  bool updates(const StageParameter& parameter) const { return !filter_ || filter_(parameter); }

  const FlatParameters& parameters_;
  const ParameterFilter filter_;
  std::vector<FlatRun> runs_;

 private:
  static at::Tensor part(const std::vector<at::Tensor>& of_family, const FlatRun& run);
  bool has_master(const FlatRun& run) const {
    return masters_ && states_[*masters_].of_family[run.family].defined();
  }
  std::vector<StateBuffers> states_;
  std::optional<std::size_t> masters_;  // index into states_
};

std::unique_ptr<Optimizer> make_adam(const AdamWOptions& options, const FlatParameters& parameters,
                                     ParameterFilter filter = {});
std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, const FlatParameters& parameters);
std::unique_ptr<Optimizer> make_adamw_8bit(const AdamW8BitOptions& options, const FlatParameters& parameters);
std::unique_ptr<Optimizer> make_muon(const MuonOptions& options, const FlatParameters& parameters,
                                     const OptimizerContext& context);
std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, const FlatParameters& parameters);
std::unique_ptr<Optimizer> make_stochastic_adamw(const StochasticAdamWOptions& options,
                                                 const FlatParameters& parameters, std::uint64_t seed);

}  // namespace d9d
