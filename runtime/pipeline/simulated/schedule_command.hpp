#pragma once
// `d9d-node schedule`: simulates a schedule's programs and prints them as text,
// JSON and picture. Writes no files.

#include <string>

#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

struct ScheduleCommandOptions {
  ScheduleConfig schedule;
  // For `auto`: use two stages per rank on a V, if that is faster than the one stage of `schedule`.
  bool chooses_stages = false;
  int ranks = 0;         // --pp
  int microbatches = 0;  // --microbatches
  double transfer = 0;   // --transfer, in the unit of the costs
  bool json = false;
  // --costs: "F:I:W" or "F:I:W:B" of a microbatch, once for all stages or once per stage, separated by
  // commas. Empty: unit_costs(); times are then in forwards of a whole rank.
  std::string costs = {};
  // The text of the file of --program, in place of a schedule: a line of mnemonics per pipeline rank, with
  // or without "rank N:" in front, with or without SEND and RECV. Ranks and microbatches follow from it.
  std::string program = {};
};

struct ScheduleCommandResult {
  std::string text;  // for standard output, ends with a newline
  std::string svg;   // for --svg
};

// JSON keys: schedule, pp, stages_per_rank, microbatches, programs (compute actions by rank),
// programs_with_communication, makespan, bubble (a share in [0, 1)), peak_activations (stage-microbatches
// per rank), peak_activations_of_rank (the same divided by stages per rank), peak_pending_weights,
// peak_held. For `auto` also origin, fixed, fixed_makespan, fixed_bubble (see AutoChoice). Input errors as
// in the builders, and for a program that breaks a rule or deadlocks.
ScheduleCommandResult run_schedule_command(const ScheduleCommandOptions& options);

}  // namespace d9d
