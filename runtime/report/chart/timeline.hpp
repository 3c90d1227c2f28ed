#pragma once
// The measured timeline of a traced step beside the simulation
// of the same program: `d9d-node trace --timeline`.

#include <optional>
#include <string>

#include "runtime/pipeline/simulated/simulator.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d {

// One step of one pipeline. Times in milliseconds from the begin of its first action.
struct MeasuredStep {
  int step = 0;
  std::vector<int> ranks;  // global; index = coordinate on pp
  Program program;         // the actions that ran, in the order of their begin
  Simulation measured;
  CostModel costs;  // measured means; transfers: medians over those whose receiver was waiting
  Simulation simulated;
};

// Measures `step`, or the last step that the trace has whole if none is given. Of several replicas
// it measures the one with the lowest ranks. The parts of a composed action count as equal shares
// of it. Input error: no such step, or some of its actions are missing.
MeasuredStep measure_step(const trace::Recording& recording, std::optional<int> step);

// Draws the step. `embedded`: inside a page (SvgOptions).
std::string timeline_svg(const MeasuredStep& step, bool embedded = false);
// One line: makespans and bubbles.
std::string timeline_text(const MeasuredStep& step);

}  // namespace d9d
