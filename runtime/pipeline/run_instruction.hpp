#pragma once
// Runs one instruction, composed ones with overlap. No torch in this header.

#include <functional>
#include <vector>

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/action_result.hpp"

namespace d9d {

class ComputeLanes;

// The results of the parts, in their order. With lanes, the first part of a composed instruction and the
// others run side by side: one computes while the other waits for other ranks. Parts of one stage, and all
// without lanes, run one after the other. `run` may be called on the thread of either lane; never at a time.
std::vector<ActionResult> run_instruction(const Instruction& instruction, ComputeLanes* lanes,
                                          const std::function<ActionResult(const Action&)>& run);

}  // namespace d9d
