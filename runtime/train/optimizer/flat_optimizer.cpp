#include "runtime/train/optimizer/flat_optimizer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/train/flat_buffer.hpp"

namespace d9d {
namespace {

std::vector<FlatRun> runs_of(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                             double weight_decay, const ParameterFilter& filter) {
  std::vector<FlatRun> runs;
  bool goes_on = false;  // the previous parameter in memory is updated by this optimizer, too
  // Buckets are numbered from the end of memory to its beginning; runs follow memory.
  for (auto bucket = parameters.buckets().rbegin(); bucket != parameters.buckets().rend(); ++bucket) {
    for (const FlatSegment& segment : bucket->segments) {
      const StageParameter& parameter = parameters.parameters()[segment.parameter];
      const bool went_on = std::exchange(goes_on, !filter || filter(parameter));
      if (!goes_on) continue;
      const ParameterSettings settings = settings_of(parameter.name, rules, weight_decay);
      if (!went_on || runs.back().family != bucket->family || runs.back().settings != settings)
        runs.push_back({bucket->family, segment.begin, segment.begin, settings});
      runs.back().end = segment.begin + segment.count;
      runs.back().segments.push_back(segment);
    }
  }
  return runs;
}

}  // namespace

FlatOptimizer::FlatOptimizer(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                             double weight_decay, ParameterFilter filter)
    : parameters_(parameters),
      filter_(std::move(filter)),
      runs_(runs_of(parameters, rules, weight_decay, filter_)) {}

void FlatOptimizer::add_state(const std::string& kind, std::optional<at::ScalarType> dtype) {
  StateBuffers buffers{kind, {}};
  for (const FlatFamily& family : parameters_.families()) {
    const at::ScalarType usual = family.data.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    buffers.of_family.push_back(
        zeroed_flat_buffer(family.data.numel(), dtype.value_or(usual), family.data.device()));
  }
  states_.push_back(std::move(buffers));
}

void FlatOptimizer::add_masters() {
  StateBuffers buffers{std::string(master_weight_kind), {}};
  for (const FlatFamily& family : parameters_.families()) {
    at::Tensor& master = buffers.of_family.emplace_back();
    if (family.data.element_size() > 2) continue;
    master = zeroed_flat_buffer(family.data.numel(), at::kFloat, family.data.device());
  }
  masters_ = states_.size();
  states_.push_back(std::move(buffers));
  for (const FlatRun& run : runs_) {
    if (has_master(run)) values(run).copy_(data(run));
  }
}

at::Tensor FlatOptimizer::part(const std::vector<at::Tensor>& of_family, const FlatRun& run) {
  return of_family[run.family].narrow(0, run.begin, run.end - run.begin);
}

at::Tensor FlatOptimizer::data(const FlatRun& run) const {
  return parameters_.families()[run.family].data.narrow(0, run.begin, run.end - run.begin);
}

at::Tensor FlatOptimizer::values(const FlatRun& run) const {
  return has_master(run) ? part(states_[*masters_].of_family, run) : data(run);
}

void FlatOptimizer::round_masters(const FlatRun& run) const {
  if (has_master(run)) data(run).copy_(values(run));
}

at::Tensor FlatOptimizer::grad(const FlatRun& run) const {
  return parameters_.families()[run.family].grad.narrow(0, run.begin, run.end - run.begin);
}

std::vector<StateEntry> FlatOptimizer::state_entries() const {
  std::vector<StateEntry> entries;
  for (std::size_t i = 0; i < parameters_.parameters().size(); ++i) {
    const StageParameter& parameter = parameters_.parameters()[i];
    if (!updates(parameter)) continue;
    const bool frozen = parameters_.bucket_of(i) < 0;
    entries.push_back({"param", parameter.name, &parameter.layout, parameter.tensor.detach(), frozen});
    if (frozen) continue;
    const FlatSegment& segment = parameters_.segment_of(i);
    const std::size_t family = parameters_.buckets()[parameters_.bucket_of(i)].family;
    for (const StateBuffers& state : states_) {
      if (!state.of_family[family].defined()) continue;
      const at::Tensor flat = state.of_family[family].narrow(0, segment.begin, segment.count);
      entries.push_back({state.kind, parameter.name, &parameter.layout, flat.view(parameter.tensor.sizes())});
    }
  }
  return entries;
}

void Optimizer::resume(std::int64_t steps, const std::vector<std::uint64_t>& skipped) {
  const auto updates = static_cast<std::int64_t>(skipped.size());
  const std::uint64_t sum = std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
  set_step_count(steps * updates - static_cast<std::int64_t>(sum));
}

at::Tensor saved_values(const StateEntry& entry) {
  return entry.packed ? entry.packed->unpack().view(entry.tensor.sizes())
                      : entry.tensor.detach().clone(at::MemoryFormat::Contiguous);
}

void load_values(const StateEntry& entry, const at::Tensor& values) {
  if (entry.packed) {
    entry.packed->pack(values);
  } else {
    at::Tensor target = entry.tensor;
    target.copy_(values);
  }
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const FlatParameters& parameters,
                                          const OptimizerContext& context) {
  validate(options);
  struct Make {
    const FlatParameters& parameters;
    const OptimizerContext& context;
    std::unique_ptr<Optimizer> operator()(const AdamWOptions& adam) const {
      return make_adam(adam, parameters);
    }
    std::unique_ptr<Optimizer> operator()(const AdamOptions& adam) const {
      return make_adam(adam, parameters);
    }
    std::unique_ptr<Optimizer> operator()(const AdamW8BitOptions& adam) const {
      return make_adamw_8bit(adam, parameters);
    }
    std::unique_ptr<Optimizer> operator()(const MuonOptions& muon) const {
      return make_muon(muon, parameters, context);
    }
    std::unique_ptr<Optimizer> operator()(const SgdOptions& sgd) const { return make_sgd(sgd, parameters); }
    std::unique_ptr<Optimizer> operator()(const StochasticAdamWOptions& adam) const {
      return make_stochastic_adamw(adam, parameters, context.seed);
    }
  };
  return std::visit(Make{parameters, context}, options);
}

}  // namespace d9d
