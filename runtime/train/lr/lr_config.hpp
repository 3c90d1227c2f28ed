#pragma once
// Section `lr_scheduler` of the job file (LR-04; reference A.6) and the schedule it describes.

#include <cstdint>
#include <optional>
#include <variant>

#include "runtime/base/config/decode.hpp"
#include "runtime/train/lr/lr_schedule.hpp"
#include "runtime/train/lr/phases_config.hpp"
#include "runtime/train/lr/warmup_schedules.hpp"

namespace d9d {

struct PiecewiseLrProvider {
  PiecewiseLrConfig scheduler;
};
BOOST_DESCRIBE_STRUCT(PiecewiseLrProvider, (), (scheduler))

using LrSchedulerConfig =
    std::variant<PiecewiseLrProvider, ConstantLr, LinearLr, CosineLr, WsdLr, config::Named>;

// Returns the phases of a section: its own, or those of a short form. Input error for two keys that say the
// same, and for a share without the number of steps. Do not call it for a plugin's schedule.
PiecewiseLrConfig as_phases(const LrSchedulerConfig& config, std::optional<std::int64_t> total_steps);

// Builds the schedule. Input errors as in PiecewiseLrBuilder.
PiecewiseLr build_lr(const PiecewiseLrConfig& config, std::optional<std::int64_t> total_steps);
// The schedule of a job without the section: the multiplier is 1 at every step.
PiecewiseLr constant_lr();

constexpr auto keys_of(config::Tag<PiecewiseLrProvider>) {
  return std::array{config::Key{"scheduler", "", "the schedule", config::required}};
}
constexpr auto choices_of(config::Tag<LrSchedulerConfig>) {
  return config::Choices<5>{
      "name",
      {{{"piecewise",
         "Phases, each with a target and a curve. The learning rate of a step is "
         "the optimizer's `lr` times the multiplier."},
        {"constant", "After the warm-up the multiplier stays 1."},
        {"linear", "After the warm-up a straight line to `min_ratio` at the end of the job."},
        {"cosine", "After the warm-up half a period of a cosine to `min_ratio` at the end of the job."},
        {"wsd",
         "Warm-up, stable, decay: the multiplier is 1 until the last steps, which lead to `min_ratio`."}}}};
}

}  // namespace d9d
