#pragma once
// Runs one instruction. The parts of a composed one overlap. No torch in this header.

#include <functional>
#include <vector>

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/action_result.hpp"

namespace d9d {

class ComputeLanes;

// Returns the results of the parts, in their order. With lanes, the first part of a composed instruction
// runs on one lane and the others on the other: one computes while the other waits for other ranks. Parts of
// the same stage run one after the other; so do all parts without lanes. `run` may be called on the thread
// of either lane, but never on both at once.
std::vector<ActionResult> run_instruction(const Instruction& instruction, ComputeLanes* lanes,
                                          const std::function<ActionResult(const Action&)>& run);

}  // namespace d9d
