#pragma once
// The passes of each kind over the stages of a rank. Needs torch.

#include <memory>

#include "runtime/pipeline/lane/stage_streams.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/rank/group/device_groups.hpp"
#include "runtime/rank/measured/action_times.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/model/rank_model.hpp"
#include "runtime/rank/pass/pass_options.hpp"
#include "runtime/rank/pass/rank_pass.hpp"
#include "runtime/rank/state/snapshot_copies.hpp"

namespace d9d {

// What a pass works with. All that it refers to outlives the pass.
struct PassParts {
  const RankServices& services;
  const DeviceGroups& groups;
  const RankModel::Stages& stages;
  SnapshotCopies& copies;
  Topology topology;
  int pipeline_rank = 0;
  std::uint64_t noise_seed = 0;
  bool counts_loss = true;  // on one of the ranks that compute the same loss of the same samples
  WorkLog* log = nullptr;   // null on the CPU
  const StageStreams* streams = nullptr;  // null: all stages compute on one stream
};

// Forwards and backwards in the order of the schedule, losses, and gradients that are summed as soon as a
// bucket of them is complete. All that this refers to outlives the pass.
struct TrainingParts {
  RankModel& model;
  RankMetrics& metrics;
  StepPrograms& programs;
  BucketObserver& buckets;
  ActionTimes* times;  // null on the CPU
  const OrderOptions& order;
  const ModelOptions& options;
  const TaskOptions& task;
  bool logs_expert_load;
};
std::unique_ptr<RankPass> make_training_pass(const PassParts& parts, const TrainingParts& training);

// The other passes run the stages forward alone, without a graph. They use the modules of training, so the
// only extra memory is that of activations under way.

// What happens with the outputs of samples. One of the two is null.
struct SampleWork {
  std::shared_ptr<const TrainTask> task;          // computes a loss of them and counts metrics
  int phase = 0;                                  // of the task's step, whose loss is computed
  std::shared_ptr<InferenceTask> inference = {};  // gets them
};
// Of an evaluation or an inference job.
std::unique_ptr<RankPass> make_samples_pass(const PassParts& parts, SampleWork work);

// Of prompts with which the model goes on. begin() throws an input error on a mesh whose ranks share
// sequences.
std::unique_ptr<RankPass> make_texts_pass(const PassParts& parts);

}  // namespace d9d
