#pragma once
// The base of all optimizers, including those of plugins. It has the ranges of the flat buffers with their
// settings, and the state buffers, which checkpoints hold and any mesh reads.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

// A range of a family whose parameters have the same settings. Gaps between
// parameters are zero and stay zero.
struct FlatRun {
  std::size_t family = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ParameterSettings settings;
  std::vector<FlatSegment> segments = {};  // its parameters, in the order of memory
};

// A state tensor for each family, of the length of its data; undefined for a family without this state.
struct StateBuffers {
  std::string kind;
  std::vector<at::Tensor> of_family;
};

// Selects the parameters that an optimizer updates, when two optimizers share a stage.
using ParameterFilter = std::function<bool(const StageParameter&)>;

class FlatOptimizer : public Optimizer {
 public:
  std::vector<StateEntry> state_entries() const override;

 protected:
  // Without a filter it updates all parameters. Makes runs and state only for parameters that it updates.
  FlatOptimizer(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                double weight_decay, ParameterFilter filter = {});

  // Adds a state of zeros. `dtype`: none means fp32, or fp64 for a family of fp64.
  void add_state(const std::string& kind, std::optional<at::ScalarType> dtype = {});
  // Returns a run of the state with this index, in the order of add_state() and add_masters().
  at::Tensor state(std::size_t index, const FlatRun& run) const {
    return part(states_[index].of_family, run);
  }
  // Adds float32 copies of the 16-bit parameters as they are now. They are
  // updated in place of the parameters.
  void add_masters();
  at::Tensor data(const FlatRun& run) const;
  at::Tensor grad(const FlatRun& run) const;
  // Returns the values that an update must change: the masters, or the parameters if there are none.
  at::Tensor values(const FlatRun& run) const;
  // Rounds the masters to nearest into the parameters. Call it after an update.
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
