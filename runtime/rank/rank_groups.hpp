#pragma once
// The StageGroups of a rank: opens each communicator once. No torch in this header.

#include <functional>
#include <memory>

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/rank/communication_watch.hpp"

namespace d9d {

class ComputeLanes;

using OpenGroup = std::function<std::shared_ptr<Communicator>(
    const std::string& domain, const std::vector<std::string>& axes, const std::string& use)>;

// Communicators that two lanes may use at a time (lane_communicator.hpp): opens one for each, one after the
// other. `lanes` is asked when the first group of more than one rank is opened; they outlive what is opened.
OpenGroup on_lanes(OpenGroup open, std::function<ComputeLanes&()> lanes);

// Communicators that tell `watch.inside` of the calls of the thread that calls this, and of lane 1, and
// `watch.wait` unless both lanes run: then the other one computes. `lanes` may give null. Other threads tell
// of what they do themselves. Opens what `open` does where the watch is empty.
OpenGroup on_watch(OpenGroup open, CommunicationWatch watch, std::function<const ComputeLanes*()> lanes);

// `plan` outlives the groups.
std::unique_ptr<StageGroups> make_rank_groups(const Plan& plan, int rank, OpenGroup open);

}  // namespace d9d
