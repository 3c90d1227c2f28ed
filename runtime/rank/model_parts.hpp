#pragma once
// The RankUpdate and the RankState over a model. Needs torch.

#include <memory>

#include "runtime/rank/group/device_groups.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/model/rank_model.hpp"
#include "runtime/rank/pass/pass_options.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "runtime/rank/state/snapshot_copies.hpp"

namespace d9d {

// Update and state keep references to these and to their options.
struct ModelParts {
  const RankServices& services;
  const DeviceGroups& groups;
  RankModel& model;
  SnapshotCopies& copies;
  RankMetrics& metrics;
  WorkLog* log = nullptr;  // null on the CPU
};

std::unique_ptr<RankUpdate> make_model_update(const ModelParts& parts, const ModelOptions& model,
                                              const TaskOptions& task, const MetricOptions& metrics);
// `inference`: of an inference job, whose checkpoint has no tensors; else null.
std::unique_ptr<RankState> make_model_state(const ModelParts& parts, const StateOptions& options,
                                            std::shared_ptr<InferenceTask> inference);

}  // namespace d9d
