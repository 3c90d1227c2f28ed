#pragma once
// The job's Tracker, on node 0: what trackers show of the run, the live page, the peak of the devices. No torch.

#include "actors/job/process/epoch_services.hpp"

namespace d9d {

// The services outlive the actor. Measures the peak of this node, if the job says so, before any rank computes.
CastMember tracker_member(ProcessServices& process, const EpochServices& epoch);

}  // namespace d9d
