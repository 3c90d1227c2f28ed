#pragma once
// LiveModel of a rank. Needs torch.

#include <memory>

#include "runtime/comm/rank_group.hpp"
#include "runtime/rank/model/rank_model.hpp"
#include "runtime/task/live_model.hpp"

namespace d9d {

// Opens a group for each axis over which a parameter is split, so all ranks of the job call it at the same point. The
// model and the options outlive it. `world`: all ranks of the job.
std::shared_ptr<LiveModel> make_live_model(RankModel& model, const ModelOptions& options,
                                           const StateOptions& state, const OpenGroup& open, RankGroup world);

}  // namespace d9d
