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

// Opens communicators that both compute lanes may use at the same time (lane_communicator.hpp): one for each
// lane. `lanes` is called when the first group of more than one rank is opened, and must outlive the result.
OpenGroup with_lane_communicators(OpenGroup open, std::function<ComputeLanes&()> lanes);

// Opens communicators whose calls are measured. Calls from the thread that calls
// with_tracing(), or from lane 1, are reported to `tracing.in_compute`. Unless both lanes
// run, they are reported to `tracing.stalls` as well: with two lanes the other one computes
// meanwhile. Calls from other threads are not reported; these threads measure themselves.
// `lanes` may return null. If the functions of `tracing` are empty, the result is `open`.
OpenGroup with_tracing(OpenGroup open, CommTracing tracing, std::function<const ComputeLanes*()> lanes);

// Keeps a reference to `plan`.
std::unique_ptr<StageGroups> make_rank_groups(const Plan& plan, int rank, OpenGroup open);

}  // namespace d9d
