#include "runtime/train/optimizer/optimizer_options.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void check_lr(double lr) {
  D9D_REQUIRE(lr > 0, "optimizer.lr = {}: must be above 0", lr);
}

void check_decay(double decay) {
  D9D_REQUIRE(decay >= 0, "optimizer.weight_decay = {}: must be at least 0", decay);
}

template <class Adam>
void check_adam(const Adam& options) {
  check_lr(options.lr);
  check_decay(options.weight_decay);
  D9D_REQUIRE(options.eps > 0, "optimizer.eps = {}: must be above 0", options.eps);
  for (const double beta : options.betas) {
    D9D_REQUIRE(beta >= 0 && beta < 1, "optimizer.betas: {} is not in [0, 1)", beta);
  }
}

void check(const AdamWOptions& options) {
  check_adam(options);
}
void check(const AdamOptions& options) {
  check_adam(options);
}
void check(const StochasticAdamWOptions& options) {
  check_adam(options);
  D9D_REQUIRE(options.state_dtype == Dtype::float32 || options.state_dtype == Dtype::bfloat16,
              "optimizer.state_dtype = {}: must be float32 or bfloat16", name_of(options.state_dtype));
}
void check(const SgdOptions& options) {
  check_lr(options.lr);
  check_decay(options.weight_decay);
  D9D_REQUIRE(options.momentum >= 0, "optimizer.momentum = {}: must be at least 0", options.momentum);
  D9D_REQUIRE(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
              "optimizer.nesterov needs momentum above 0 and dampening 0; they are {} and {}",
              options.momentum, options.dampening);
}

void check(const MuonOptions& options) {
  check_lr(options.lr);
  check_decay(options.weight_decay);
  D9D_REQUIRE(options.momentum >= 0 && options.momentum < 1, "optimizer.momentum = {}: must be in [0, 1)",
              options.momentum);
  D9D_REQUIRE(options.newton_schulz_steps >= 1 && options.newton_schulz_steps < 100,
              "optimizer.newton_schulz_steps = {}: must be in [1, 100)", options.newton_schulz_steps);
  D9D_REQUIRE(options.adamw_lr.value_or(1) > 0, "optimizer.adamw_lr = {}: must be above 0",
              *options.adamw_lr);
  D9D_REQUIRE(options.adamw_eps > 0, "optimizer.adamw_eps = {}: must be above 0", options.adamw_eps);
  for (const double beta : options.adamw_betas) {
    D9D_REQUIRE(beta >= 0 && beta < 1, "optimizer.adamw_betas: {} is not in [0, 1)", beta);
  }
}

void check(const AdamW8BitOptions& options) {
  check_adam(options);
  D9D_REQUIRE(options.block_size >= 1, "optimizer.block_size = {}: must be at least 1", options.block_size);
  D9D_REQUIRE(options.float32_below >= 0, "optimizer.float32_below = {}: must be at least 0",
              options.float32_below);
}

// The number of state tensors without the masters, and their dtype for parameters of at most fp32.
struct Moments {
  int count;
  Dtype dtype = Dtype::float32;
};
Moments moments_of(const OptimizerOptions& options) {
  struct Count {
    Moments operator()(const AdamWOptions& adam) const { return {adam.amsgrad ? 3 : 2}; }
    Moments operator()(const AdamOptions& adam) const { return {adam.amsgrad ? 3 : 2}; }
    Moments operator()(const SgdOptions& sgd) const { return {sgd.momentum != 0 ? 1 : 0}; }
    Moments operator()(const StochasticAdamWOptions& adam) const { return {2, adam.state_dtype}; }
    Moments operator()(const MuonOptions&) const { return {2}; }
    Moments operator()(const AdamW8BitOptions&) const { return {2, Dtype::uint8}; }
  };
  return std::visit(Count{}, options);
}

bool matches_one_of(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

bool is_end_of_model(ParameterRole role, const std::string& name) {
  if (role == ParameterRole::unsaid) return matches_one_of({"*embed*", "*head*"}, name);
  return role != ParameterRole::inside;
}

}  // namespace

bool is_muon_matrix(const MuonOptions& options, const std::string& name,
                    const std::vector<std::int64_t>& shape, ParameterRole role) {
  if (role == ParameterRole::vectors) return false;
  if (shape.size() < 2 || shape.size() > 3 || shape.back() == 1 || shape[shape.size() - 2] == 1) return false;
  return options.adamw_for ? !matches_one_of(*options.adamw_for, name) : !is_end_of_model(role, name);
}

bool has_byte_moments(const AdamW8BitOptions& options, const std::string& name,
                      const std::vector<std::int64_t>& shape) {
  const std::int64_t elements =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return elements >= options.float32_below && !matches_one_of(options.float32_for, name);
}

void validate(const OptimizerOptions& options) {
  std::visit([](const auto& chosen) { check(chosen); }, options);
  const std::vector<ParameterRule>& rules = rules_of(options);
  check_rules(rules);
  const bool has_betas = std::visit(
      [](const auto& chosen) {
        return requires {
          chosen.betas;
        };
      },
      options);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    D9D_REQUIRE(has_betas || !rules[i].betas,
                "optimizer.rules.{}.betas: this optimizer has no betas; leave it out", i);
  }
}

bool keeps_masters(const OptimizerOptions& options, Dtype parameters) {
  if (parameters != Dtype::bfloat16 && parameters != Dtype::float16) return false;
  return std::visit(
      [](const auto& chosen) {
        if constexpr (requires { chosen.master_weights; }) return chosen.master_weights;
        return false;
      },
      options);
}

std::int64_t state_bytes(const OptimizerOptions& options, Dtype parameters) {
  const Moments moments = moments_of(options);
  const Dtype dtype = parameters == Dtype::float64 ? Dtype::float64 : moments.dtype;
  const std::int64_t masters = keeps_masters(options, parameters) ? size_of(Dtype::float32) : 0;
  return moments.count * size_of(dtype) + masters;
}

std::int64_t saved_state_bytes(const OptimizerOptions& options, Dtype parameters) {
  const auto* const packed = std::get_if<AdamW8BitOptions>(&options);
  return packed ? state_bytes(AdamWOptions{.master_weights = packed->master_weights}, parameters)
                : state_bytes(options, parameters);
}

const std::vector<ParameterRule>& rules_of(const OptimizerOptions& options) {
  return std::visit([](const auto& chosen) -> const std::vector<ParameterRule>& { return chosen.rules; },
                    options);
}

double weight_decay_of(const OptimizerOptions& options) {
  return std::visit([](const auto& chosen) { return chosen.weight_decay; }, options);
}

}  // namespace d9d
