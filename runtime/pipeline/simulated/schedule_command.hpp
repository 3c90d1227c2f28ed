#pragma once
// `d9d-node schedule`: a schedule's programs, simulated, as text, JSON and picture. Pure: writes no files.

#include <string>

#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

struct ScheduleCommandOptions {
  ScheduleConfig schedule;
  // Of `auto`: where two stages per rank on a V are faster, they are taken instead of the one of `schedule`.
  bool chooses_stages = false;
  int ranks = 0;         // --pp
  int microbatches = 0;  // --microbatches
  double transfer = 0;   // --transfer, in the unit of the costs
  bool json = false;
  // --costs: "F:I:W" or "F:I:W:B" of a microbatch, once for all stages or once per stage, parted by commas;
  // empty: unit_costs(), times are in forwards of a whole rank.
  std::string costs = {};
  // What is in the file of --program: a line of mnemonics per pipeline rank, with or without "rank N:" before
  // it and with or without SEND and RECV. Instead of a schedule; ranks and microbatches are what it has.
  std::string program = {};
};

struct ScheduleCommandResult {
  std::string text;  // for standard output, ends with a newline
  std::string svg;   // for --svg
};

// JSON keys: schedule, pp, stages_per_rank, microbatches, programs (compute actions by rank),
// programs_with_communication, makespan, bubble (a share in [0, 1)), peak_activations (stage-microbatches per
// rank), peak_activations_of_rank (the same divided by stages per rank), peak_pending_weights, peak_held; of
// `auto` also origin, fixed, fixed_makespan, fixed_bubble (see AutoChoice). Input errors as the builders say,
// and for a program that breaks a rule or deadlocks.
ScheduleCommandResult run_schedule_command(const ScheduleCommandOptions& options);

}  // namespace d9d
