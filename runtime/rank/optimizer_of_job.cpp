#include "runtime/rank/optimizer_of_job.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct ToOptions {
  std::uint64_t seed;

  OptimizerOptions operator()(const AdamWConfig& c) const {
    return AdamOptions{c.lr, c.betas[0], c.betas[1], c.eps, c.weight_decay, true, c.amsgrad, c.maximize};
  }
  OptimizerOptions operator()(const AdamConfig& c) const {
    return AdamOptions{c.lr,      c.betas[0], c.betas[1], c.eps, c.weight_decay, c.decoupled_weight_decay,
                       c.amsgrad, c.maximize};
  }
  OptimizerOptions operator()(const SgdConfig& c) const {
    return SgdOptions{c.lr, c.momentum, c.dampening, c.weight_decay, c.nesterov, c.maximize};
  }
  OptimizerOptions operator()(const StochasticAdamWConfig& c) const {
    return StochasticAdamWOptions{c.lr,  c.betas[0],     c.betas[1],
                                  c.eps, c.weight_decay, c.state_dtype == OptimizerStateDtype::bfloat16,
                                  seed};
  }
  OptimizerOptions operator()(const config::Named& named) const {
    throw Error(ErrorKind::input,
                fmt::format("optimizer: no optimizer is called \"{}\"; there are adamw, adam, sgd and "
                            "stochastic_adamw",
                            named.name));
  }
};

at::ScalarType to_scalar_type(GradDtype dtype) {
  switch (dtype) {
    case GradDtype::float32:
      return at::kFloat;
    case GradDtype::bfloat16:
      return at::kBFloat16;
    case GradDtype::float16:
      return at::kHalf;
  }
  return at::kFloat;
}

}  // namespace

OptimizerOptions optimizer_options(const OptimizerConfig& config, std::uint64_t seed) {
  return std::visit(ToOptions{seed}, config);
}

FlatOptions flat_options(const GradientManagerConfig& config) {
  FlatOptions options{.bucket_bytes = config.bucket_size_mb << 20, .wanted_buckets = 8};
  // Tensor parallel runs with sequence parallel: what its
  // ranks replicate sees different tokens or heads on each.
  options.summed_axes.emplace_back("tp");
  if (config.grad_dtype) options.grad_dtype = to_scalar_type(*config.grad_dtype);
  return options;
}

}  // namespace d9d
