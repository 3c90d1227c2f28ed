#pragma once
// The phases of a piecewise learning rate in the job file.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/train/lr/lr_curve.hpp"

namespace d9d {

struct LrStepsPhase {
  std::int64_t steps = 0;
  double target_multiplier = 0;
  LrCurve curve;
};
BOOST_DESCRIBE_STRUCT(LrStepsPhase, (), (steps, target_multiplier, curve))

struct LrPercentagePhase {
  double percentage = 0;
  double target_multiplier = 0;
  LrCurve curve;
};
BOOST_DESCRIBE_STRUCT(LrPercentagePhase, (), (percentage, target_multiplier, curve))

struct LrRestPhase {
  double target_multiplier = 0;
  LrCurve curve;
};
BOOST_DESCRIBE_STRUCT(LrRestPhase, (), (target_multiplier, curve))

using LrPhaseConfig = std::variant<LrStepsPhase, LrPercentagePhase, LrRestPhase>;

struct PiecewiseLrConfig {
  double initial_multiplier = 0;
  std::vector<LrPhaseConfig> phases;
};
BOOST_DESCRIBE_STRUCT(PiecewiseLrConfig, (), (initial_multiplier, phases))

namespace lr_keys {
inline constexpr config::Key target{"target_multiplier", "",
                                    "multiplier at the end of the phase; the next one starts there",
                                    config::required, config::at_least(0)};
inline constexpr config::Key curve{"curve", "", "way from the value before to the target", config::required};
}  // namespace lr_keys

constexpr auto keys_of(config::Tag<LrStepsPhase>) {
  return std::array{
      config::Key{"steps", "steps", "length of the phase", config::required, config::at_least(1)},
      lr_keys::target, lr_keys::curve};
}
constexpr auto keys_of(config::Tag<LrPercentagePhase>) {
  return std::array{
      config::Key{"percentage", "share of total_steps", "end of the phase, counted from step 0, rounded down",
                  config::required, config::within(0, 1)},
      lr_keys::target, lr_keys::curve};
}
constexpr auto keys_of(config::Tag<LrRestPhase>) {
  return std::array{lr_keys::target, lr_keys::curve};
}
constexpr auto choices_of(config::Tag<LrPhaseConfig>) {
  return config::Choices<3>{"mode",
                            {{{"steps", "A phase of so many steps."},
                              {"percentage", "A phase until a share of the job's steps; needs total_steps."},
                              {"rest", "A phase until the end of the job; needs total_steps."}}}};
}
constexpr auto keys_of(config::Tag<PiecewiseLrConfig>) {
  return std::array{
      config::Key{"initial_multiplier", "", "multiplier at step 0", config::required, config::at_least(0)},
      config::Key{"phases", "", "phases one after the other; at least one", config::required}};
}

}  // namespace d9d
