#include "runtime/train/flat_optimizer.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/train/flat_buffer.hpp"

namespace d9d {
namespace {

std::vector<FlatRun> runs_of(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                             double weight_decay) {
  std::vector<FlatRun> runs;
  // Buckets go backwards through memory; runs go forwards.
  for (auto bucket = parameters.buckets().rbegin(); bucket != parameters.buckets().rend(); ++bucket) {
    for (const FlatSegment& segment : bucket->segments) {
      const std::string& name = parameters.parameters()[segment.parameter].name;
      const ParameterSettings settings = settings_of(name, rules, weight_decay);
      if (!runs.empty() && runs.back().family == bucket->family && runs.back().settings == settings) {
        runs.back().end = segment.begin + segment.count;
      } else {
        runs.push_back({bucket->family, segment.begin, segment.begin + segment.count, settings});
      }
    }
  }
  return runs;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string::npos;  // the last `*` seen, and where its run would end
  std::size_t run_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      run_end = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++run_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

ParameterSettings settings_of(const std::string& name, const std::vector<ParameterRule>& rules,
                              double weight_decay) {
  for (const ParameterRule& rule : rules) {
    if (matches(rule.pattern, name)) return {rule.lr_factor, rule.weight_decay.value_or(weight_decay)};
  }
  return {1, weight_decay};
}

FlatOptimizer::FlatOptimizer(const FlatParameters& parameters, const std::vector<ParameterRule>& rules,
                             double weight_decay)
    : parameters_(parameters), runs_(runs_of(parameters, rules, weight_decay)) {}

void FlatOptimizer::add_state(const std::string& kind, std::optional<at::ScalarType> dtype) {
  StateBuffers buffers{kind, {}};
  for (const FlatFamily& family : parameters_.families()) {
    const at::ScalarType usual = family.data.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    buffers.of_family.push_back(
        zeroed_flat_buffer(family.data.numel(), dtype.value_or(usual), family.data.device()));
  }
  states_.push_back(std::move(buffers));
}

at::Tensor FlatOptimizer::part(const std::vector<at::Tensor>& of_family, const FlatRun& run) {
  return of_family[run.family].narrow(0, run.begin, run.end - run.begin);
}

at::Tensor FlatOptimizer::data(const FlatRun& run) const {
  return parameters_.families()[run.family].data.narrow(0, run.begin, run.end - run.begin);
}

at::Tensor FlatOptimizer::grad(const FlatRun& run) const {
  return parameters_.families()[run.family].grad.narrow(0, run.begin, run.end - run.begin);
}

std::vector<StateEntry> FlatOptimizer::state_entries() const {
  std::vector<StateEntry> entries;
  for (std::size_t i = 0; i < parameters_.parameters().size(); ++i) {
    const StageParameter& parameter = parameters_.parameters()[i];
    entries.push_back({"param", parameter.name, &parameter.layout, parameter.tensor.detach()});
    if (parameters_.bucket_of(i) < 0) continue;
    const FlatSegment& segment = parameters_.segment_of(i);
    const std::size_t family = parameters_.buckets()[parameters_.bucket_of(i)].family;
    for (const StateBuffers& state : states_) {
      const at::Tensor flat = state.of_family[family].narrow(0, segment.begin, segment.count);
      entries.push_back({state.kind, parameter.name, &parameter.layout, flat.view(parameter.tensor.sizes())});
    }
  }
  return entries;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const FlatParameters& parameters,
                                          const std::vector<ParameterRule>& rules) {
  validate(options);
  if (const auto* adam = std::get_if<AdamOptions>(&options)) return make_adam(*adam, parameters, rules);
  if (const auto* sgd = std::get_if<SgdOptions>(&options)) return make_sgd(*sgd, parameters, rules);
  return make_stochastic_adamw(std::get<StochasticAdamWOptions>(options), parameters, rules);
}

}  // namespace d9d
