#pragma once
// The sections of `trainer` about gradients: `gradient_clipping`, `non_finite_gradients`, `gradient_manager`.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/base/config/keys.hpp"
#include "runtime/tensor/dtype.hpp"
#include "runtime/train/step_end.hpp"

namespace d9d {

BOOST_DESCRIBE_ENUM(NormType, l2, inf)

struct GradientClippingConfig {
  std::optional<double> max_norm;
  NormType norm_type = NormType::l2;
};
BOOST_DESCRIBE_STRUCT(GradientClippingConfig, (), (max_norm, norm_type))
constexpr auto keys_of(config::Tag<GradientClippingConfig>) {
  using namespace config;
  return std::array{
      Key{"max_norm", "", "largest global norm of the gradients; null: no clipping", required, above(0)},
      Key{"norm_type", "",
          "the norm that clips and is logged: l2, the root of the sum of squares; inf, the largest absolute "
          "value"}};
}

BOOST_DESCRIBE_ENUM(NonFiniteAction, stop, skip)
BOOST_DESCRIBE_STRUCT(NonFiniteOptions, (), (action, max_in_a_row))
constexpr auto keys_of(config::Tag<NonFiniteOptions>) {
  using namespace config;
  return std::array{Key{"action", "",
                        "stop: the job ends with an error; skip: parameters, optimizer state and its count "
                        "of updates stay, the next step follows, and `skipped_steps` counts in the metrics"},
                    Key{"max_in_a_row", "steps",
                        "action skip: so many skipped steps may follow each other; one more ends the job",
                        config::optional, at_least(1)}};
}

struct GradientManagerConfig {
  std::optional<Dtype> grad_dtype;
  std::int64_t bucket_size_mb = 32;
};
BOOST_DESCRIBE_STRUCT(GradientManagerConfig, (), (grad_dtype, bucket_size_mb))
constexpr auto keys_of(config::Tag<GradientManagerConfig>) {
  using namespace config;
  return std::array{
      Key{"grad_dtype", "",
          "type in which gradients are summed and reduced; null: float32 for parameters of 16 bits, else the "
          "parameters'"},
      Key{"bucket_size_mb", "MiB",
          "gradients reduced at once, at most; a small model is cut into about eight parts", config::optional,
          at_least(1)}};
}

}  // namespace d9d
