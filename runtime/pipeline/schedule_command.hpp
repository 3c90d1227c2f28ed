#pragma once
// `d9d-node schedule`: a schedule's programs, simulated, as text, JSON and picture. Pure: writes no files.

#include <string>

#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

struct ScheduleCommandOptions {
  ScheduleKeys schedule;
  int ranks = 0;         // --pp
  int microbatches = 0;  // --microbatches
  double transfer = 0;   // --transfer, in forwards of a whole rank
  bool json = false;
};

struct ScheduleCommandResult {
  std::string text;  // for standard output, ends with a newline
  std::string svg;   // for --svg
};

// Costs are unit_costs(): times are in forwards of a whole rank. JSON keys: schedule, pp, stages_per_rank,
// microbatches, programs (compute actions by rank), programs_with_communication, makespan, bubble (a share in
// [0, 1)), peak_activations (stage-microbatches per rank), peak_activations_of_rank (the same divided by
// stages per rank), peak_pending_weights. Input errors as the builders say.
ScheduleCommandResult run_schedule_command(const ScheduleCommandOptions& options);

}  // namespace d9d
