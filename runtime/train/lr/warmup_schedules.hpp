#pragma once
// Learning-rate schedules by name: `lr_scheduler: {name: cosine, warmup_steps: 50}`, a warm-up and then a curve.
// Each becomes phases of the piecewise schedule, with the values of transformers' get_..._schedule_with_warmup.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/base/config/keys.hpp"
#include "runtime/train/lr/lr_curve.hpp"
#include "runtime/train/lr/phases_config.hpp"

namespace d9d {

struct LrWarmUp {
  std::optional<std::int64_t> warmup_steps;
  std::optional<double> warmup_ratio;
};
BOOST_DESCRIBE_STRUCT(LrWarmUp, (), (warmup_steps, warmup_ratio))

struct ConstantLr : LrWarmUp {};
BOOST_DESCRIBE_STRUCT(ConstantLr, (LrWarmUp), ())

struct LinearLr : LrWarmUp {
  double min_ratio = 0;
};
BOOST_DESCRIBE_STRUCT(LinearLr, (LrWarmUp), (min_ratio))

struct CosineLr : LrWarmUp {
  double min_ratio = 0;
};
BOOST_DESCRIBE_STRUCT(CosineLr, (LrWarmUp), (min_ratio))

struct WsdLr : LrWarmUp {
  double min_ratio = 0;
  std::optional<std::int64_t> decay_steps;
  std::optional<double> decay_ratio;
  LrCurve curve = CosineCurve{};
};
BOOST_DESCRIBE_STRUCT(WsdLr, (LrWarmUp), (min_ratio, decay_steps, decay_ratio, curve))

// Input error for two keys that say the same, and for a share without the number of steps.
PiecewiseLrConfig phases_of(const ConstantLr& form, std::optional<std::int64_t> total_steps);
PiecewiseLrConfig phases_of(const LinearLr& form, std::optional<std::int64_t> total_steps);
PiecewiseLrConfig phases_of(const CosineLr& form, std::optional<std::int64_t> total_steps);
PiecewiseLrConfig phases_of(const WsdLr& form, std::optional<std::int64_t> total_steps);

namespace lr_keys {
inline constexpr config::Key min_ratio{"min_ratio", "", "multiplier at the end", config::optional,
                                       config::within(0, 1)};
}  // namespace lr_keys

constexpr auto keys_of(config::Tag<LrWarmUp>) {
  using namespace config;
  return std::array{Key{"warmup_steps", "steps", "steps in which the multiplier rises to 1; left out: none",
                        config::optional, at_least(0)},
                    Key{"warmup_ratio", "share of total_steps", "the same as a share, rounded up",
                        config::optional, within(0, 1)}};
}
constexpr auto keys_of(config::Tag<ConstantLr>) {
  return keys_of(config::Tag<LrWarmUp>{});
}
constexpr auto keys_of(config::Tag<LinearLr>) {
  return config::join(keys_of(config::Tag<LrWarmUp>{}), std::array{lr_keys::min_ratio});
}
constexpr auto keys_of(config::Tag<CosineLr>) {
  return config::join(keys_of(config::Tag<LrWarmUp>{}), std::array{lr_keys::min_ratio});
}
constexpr auto keys_of(config::Tag<WsdLr>) {
  using namespace config;
  return join(
      keys_of(Tag<LrWarmUp>{}),
      std::array{Key{"min_ratio", "", "multiplier at step 0 of the warm-up and at the end", config::optional,
                     within(0, 1)},
                 Key{"decay_steps", "steps", "length of the last phase", config::optional, at_least(1)},
                 Key{"decay_ratio", "share of total_steps",
                     "the same as a share, rounded up; with neither of them a tenth", config::optional,
                     within(0, 1)},
                 Key{"curve", "", "way down in the last phase"}});
}

}  // namespace d9d
