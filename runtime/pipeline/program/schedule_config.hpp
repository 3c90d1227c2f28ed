#pragma once
// The choice of a pipeline schedule: `trainer.pipelining.schedule` of the job file (reference A.5). The keys
// are in runtime/job/section/pipeline_schedule_config.hpp. Plain structs, one per schedule: `name` is the value of
// the key `schedule`, the fields are the other keys.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/pipeline/program/own_schedule.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

struct GpipeSchedule {
  static constexpr std::string_view name = "gpipe";
};

struct LoopedBfsSchedule {
  static constexpr std::string_view name = "looped_bfs";
  int num_stages_per_rank = 1;
};

// How many forwards a rank of `1f1b` runs before its first backward.
enum class Warmup {
  textbook,  // ranks - 1 - rank with one stage per rank: rank r holds at most ranks - r activations
  deep       // twice that, as the Python original does
};
struct OneFOneBSchedule {
  static constexpr std::string_view name = "1f1b";
  int num_stages_per_rank = 1;
  bool zero_bubble = false;
  Warmup warmup = Warmup::textbook;
};

struct ZeroBubbleVSchedule {
  static constexpr std::string_view name = "zero_bubble_v";
};

struct DualPipeVSchedule {
  static constexpr std::string_view name = "dual_pipe_v";
};

// A search chooses the program (auto_schedule.hpp), by costs that the first steps of a run
// measure. The stages of a rank are fixed when the model is built; the search chooses the
// order, and which backwards are split.
struct AutoSchedule {
  static constexpr std::string_view name = "auto";
  int num_stages_per_rank = 1;
  TopologyKind topology = TopologyKind::loop;
  std::optional<int> activations_max;  // AutoProblem::held_max; none: default_held_max()
  int measured_steps = 4;
};

struct InferenceSchedule {
  static constexpr std::string_view name = "inference";
};

using ScheduleConfig = std::variant<GpipeSchedule, LoopedBfsSchedule, OneFOneBSchedule, ZeroBubbleVSchedule,
                                    DualPipeVSchedule, AutoSchedule, InferenceSchedule, OwnSchedule>;

// The names of the built-in schedules, in the order of the variant.
const std::vector<std::string_view>& schedule_names();
std::string_view name_of(const ScheduleConfig& config);
// Returns the schedule of that name with default fields. Input error, with a list of
// known names, for an unknown one.
ScheduleConfig schedule_named(std::string_view name);
int stages_per_rank(const ScheduleConfig& config);
// Whether the schedule has a program for these numbers. True for a plugin's
// schedule: only its builder knows.
bool serves(const ScheduleConfig& config, std::int64_t ranks, std::int64_t microbatches);

}  // namespace d9d
