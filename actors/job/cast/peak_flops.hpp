#pragma once
// The peak of the job's devices, of which the metric `mfu` is the share that training reaches.

#include <cstddef>
#include <optional>

#include "actors/job/process/process_services.hpp"
#include "actors/tracker.hpp"

namespace d9d {

// Of all ranks, in FLOP/s: the key logging.peak_flops, or measured here, before any of the `ranks_here` ranks computes.
// None for a job that does not log FLOPs.
std::optional<PeakFlops> peak_flops(const ProcessServices& process, std::size_t ranks_here);

}  // namespace d9d
