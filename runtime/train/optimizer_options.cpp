#include "runtime/train/optimizer_options.hpp"

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
  for (const double beta : {options.beta1, options.beta2}) {
    D9D_REQUIRE(beta >= 0 && beta < 1, "optimizer.betas: {} is not in [0, 1)", beta);
  }
}

void check(const AdamOptions& options) {
  check_adam(options);
}
void check(const StochasticAdamWOptions& options) {
  check_adam(options);
}
void check(const SgdOptions& options) {
  check_lr(options.lr);
  check_decay(options.weight_decay);
  D9D_REQUIRE(options.momentum >= 0, "optimizer.momentum = {}: must be at least 0", options.momentum);
  D9D_REQUIRE(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
              "optimizer.nesterov needs momentum above 0 and dampening 0; they are {} and {}",
              options.momentum, options.dampening);
}

}  // namespace

void validate(const OptimizerOptions& options) {
  std::visit([](const auto& chosen) { check(chosen); }, options);
}

}  // namespace d9d
