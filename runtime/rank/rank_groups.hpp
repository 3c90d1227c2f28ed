#pragma once
// The StageGroups of a rank: opens each communicator once. No torch in this header.

#include <functional>
#include <memory>

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/rank/comm_tracing.hpp"

namespace d9d {

class ComputeLanes;

using OpenGroup = std::function<std::shared_ptr<Communicator>(
    const std::string& domain, const std::vector<std::string>& axes, const std::string& use)>;

// Communicators that two lanes may use at a time (lane_communicator.hpp): opens one for each, one after the
// other. `lanes` is asked when the first group of more than one rank is opened; they outlive what is opened.
OpenGroup with_lane_communicators(OpenGroup open, std::function<ComputeLanes&()> lanes);

// Communicators whose calls are measured. A call of the thread that calls with_tracing() or of lane 1 is told to
// `tracing.in_compute`; it is told to `tracing.stalls` as well unless both lanes run, because then the other
// lane computes. Calls of other threads are not told: these threads measure themselves. `lanes` may give
// null. Without tracing (its functions empty) the result opens what `open` opens.
OpenGroup with_tracing(OpenGroup open, CommTracing tracing, std::function<const ComputeLanes*()> lanes);

// `plan` outlives the groups.
std::unique_ptr<StageGroups> make_rank_groups(const Plan& plan, int rank, OpenGroup open);

}  // namespace d9d
