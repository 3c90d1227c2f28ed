#include "runtime/job/plan/flat_options.hpp"

#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

FlatOptions flat_options(const GradientManagerConfig& config) {
  FlatOptions options{.bucket_bytes = config.bucket_size_mb << 20, .wanted_buckets = 8};
  // Tensor parallelism comes with sequence parallelism: even with parameters that all its ranks hold, each
  // rank sees other tokens or heads, so gradients have to be summed over tp.
  options.summed_axes.emplace_back("tp");
  if (config.grad_dtype) options.grad_dtype = scalar_type_of(*config.grad_dtype);
  return options;
}

}  // namespace d9d
