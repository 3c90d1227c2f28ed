#pragma once
// The choice of a pipeline schedule: `trainer.pipelining.schedule` of the job file (reference A.5).
// Plain structs, one per schedule; kName is the value of the key `schedule`, the fields are the other keys.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// How many forwards a rank of `1f1b` runs before its first backward.
enum class Warmup {
  textbook,  // ranks - 1 - rank with one stage per rank: rank r holds at most ranks - r activations
  deep       // twice that, as the Python original does
};

struct InferenceSchedule {
  static constexpr std::string_view kName = "inference";
};
struct GpipeSchedule {
  static constexpr std::string_view kName = "gpipe";
};
struct LoopedBfsSchedule {
  static constexpr std::string_view kName = "looped_bfs";
  int num_stages_per_rank = 1;
};
struct OneFOneBSchedule {
  static constexpr std::string_view kName = "1f1b";
  int num_stages_per_rank = 1;
  bool zero_bubble = false;
  Warmup warmup = Warmup::textbook;
};
struct ZeroBubbleVSchedule {
  static constexpr std::string_view kName = "zero_bubble_v";
};
struct DualPipeVSchedule {
  static constexpr std::string_view kName = "dual_pipe_v";
};

// The program is searched for (auto_schedule.hpp), from costs that the first steps of a run measure.
struct AutoSchedule {
  static constexpr std::string_view kName = "auto";
  int num_stages_per_rank = 1;
  TopologyKind topology = TopologyKind::loop;
  std::optional<int> activations_max;  // AutoProblem::held_max; none: default_held_max()
  int measured_steps = 4;
};

using ScheduleConfig = std::variant<InferenceSchedule, GpipeSchedule, LoopedBfsSchedule, OneFOneBSchedule,
                                    ZeroBubbleVSchedule, DualPipeVSchedule, AutoSchedule>;

// In the order of the variant.
const std::vector<std::string_view>& schedule_names();
std::string_view name_of(const ScheduleConfig& config);
int stages_per_rank(const ScheduleConfig& config);
// Whether the schedule has a program for these numbers.
bool serves(const ScheduleConfig& config, int ranks, int microbatches);

// The keys of a schedule before it is known which schedule it is; unset keys take the schedule's default.
struct ScheduleKeys {
  std::string schedule;
  std::optional<int> num_stages_per_rank;
  std::optional<bool> zero_bubble;
  std::optional<std::string> warmup;    // "textbook" or "deep"
  std::optional<std::string> topology;  // of auto: "loop" or "v"
  std::optional<int> activations_max;   // of auto
};
TopologyKind parse_topology(const std::string& text);
// Input errors: an unknown name (with the names there are), a key the schedule does not have, a bad value.
// zero_bubble_v and dual_pipe_v accept num_stages_per_rank only as the 2 they have anyway, inference and
// gpipe as 1.
ScheduleConfig schedule_from_keys(const ScheduleKeys& keys);

}  // namespace d9d
