#pragma once
// Programs and costs as people write them.

#include <string>
#include <string_view>

#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

// A line of mnemonics per pipeline rank, "0F0 0SEND_F0 0F3|3B1"; "rank N:" in front, empty lines and lines
// that begin with # are passed over, and so are SEND and RECV: they are
// put in anew. Which rank has which stage is read off. Input error: no
// topology fits, or the program breaks a rule (check_program) or deadlocks.
// Of its first `forwards` microbatches it has the forward alone.
PipelineProgram parse_program(std::string_view text, int forwards = 0);

// "F:I:W" or "F:I:W:B" for all stages, or for each of them, parted by commas.
std::vector<StageCosts> parse_costs(std::string_view text, int num_stages);

}  // namespace d9d
