#pragma once
// Parses programs and costs that people write.

#include <string_view>

#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

// Parses a program: a line of mnemonics per pipeline rank, "0F0 0SEND_F0 0F3|3B1". Ignores "rank N:" in
// front, empty lines, lines that begin with #, and SEND and RECV, which are added anew. The topology follows
// from the stages of the ranks. The first `forwards` microbatches must have a forward alone. Input error
// when no topology fits, or when the program breaks a rule (check_program) or deadlocks.
PipelineProgram parse_program(std::string_view text, int forwards = 0);

// Of what a simulation can add up: from 0 to 1e100, in any unit.
constexpr bool is_time(double value) {
  return value >= 0 && value <= 1e100;
}
// Parses costs: "F:I:W" or "F:I:W:B", once for all stages or once per stage, separated by commas.
std::vector<StageCosts> parse_costs(std::string_view text, int num_stages);

}  // namespace d9d
