#pragma once
// Build the compute programs of the schedules (reference, appendix C.2 to C.5). `ranks`: size of the pp
// axis. `microbatches`: per step. Both at least 1. Input error when a schedule has no program for these
// numbers. Each builder has a file of the same name.

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

// Loop topology. All forwards stage by stage, then all backwards in reverse order. One stage per rank: GPipe
// (Huang et al. 2019); more: Lamy-Poirier, "Breadth-First Pipeline Parallelism", 2022.
Program build_looped_bfs(int ranks, int stages_per_rank, int microbatches);

// Loop topology. 1F1B (Narayanan et al. 2019), interleaved 1F1B with more stages per rank (Narayanan et al.
// 2021), and with zero_bubble ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", 2023) and its
// interleaved form. The number of rounds is max(1, microbatches / ranks). If it does not divide the
// microbatches, the first rounds have one more.
Program build_interleaved(int ranks, int microbatches, const OneFOneBSchedule& schedule);

// V topology, two stages per rank. ZB-V of Qi et al., "Pipeline Parallelism with Controllable Memory", 2024.
Program build_zero_bubble_v(int ranks, int microbatches);

// V topology, two stages per rank. DeepSeek-AI, DualPipe cut in half ("DualPipeV", 2025); composes a forward
// and a backward of different stages. Needs microbatches >= 2 * ranks.
Program build_dual_pipe_v(int ranks, int microbatches);

}  // namespace d9d
