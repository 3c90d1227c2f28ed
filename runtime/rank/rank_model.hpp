#pragma once
// The model of one rank in training: the parallelised modules of its stages, their parameters and gradients
// in flat buffers, the optimizer, persistent buffers and counts of experts. All ranks build theirs once, at
// the same time, on the compute thread. Needs torch.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/pipeline/program/topology.hpp"
#include "runtime/rank/measured/rank_experts.hpp"
#include "runtime/rank/pipeline_worker.hpp"
#include "runtime/rank/stage_units.hpp"
#include "runtime/rank/state/rank_buffers.hpp"
#include "runtime/rank/state/slept_memory.hpp"
#include "runtime/train/gradient/gradient_sync.hpp"
#include "runtime/train/gradient/tied_gradients.hpp"
#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

class ComputeLanes;

class RankModel {
 public:
  struct Stage {
    std::shared_ptr<StageModule> module;
    std::size_t first_parameter = 0;  // in flat()
    std::size_t end_parameter = 0;
    StageUnits units;
  };
  // Access to the two lanes for composed actions, which are made when the first
  // module asks for a communicator.
  struct Lanes {
    std::function<ComputeLanes*()> made;  // null: not yet
    std::function<ComputeLanes&()> make;
  };
  // Builds the model, fills it with weights, and loads the checkpoint if the job resumes one.
  // Keeps a reference to `options`.
  RankModel(const PipelineWorkerOptions& options, const Topology& topology, const CommTracing& tracing,
            const Lanes& lanes);
  ~RankModel();
  RankModel(const RankModel&) = delete;
  RankModel& operator=(const RankModel&) = delete;

  std::map<int, Stage>& stages() { return stages_; }  // of this rank, by stage
  const std::shared_ptr<FlatParameters>& flat() const { return flat_; }
  GradientSync& sync() { return *sync_; }
  const TiedGradients& tied() const { return *tied_; }
  Optimizer& optimizer() { return *optimizer_; }
  RankBuffers& buffers() { return *buffers_; }
  RankExperts& experts() { return *experts_; }
  // See RankWorker.
  std::uint64_t sleep(const std::string& file);
  void wake();
  void restore(const std::string& checkpoint, std::uint64_t skipped_steps);
  // The number of the checkpoint's tensors that this rank answers for; 0 without a checkpoint.
  std::uint64_t entries_loaded() const { return entries_loaded_; }

 private:
  StagePosition position(int stage) const {
    return {stage, topology_.num_stages(), options_.device->place().str()};
  }
  std::vector<StageParameter> parameters_of(const Stage& built) const;
  std::vector<StageParameter> build_stages();
  void check_parameters(const OpenGroup& open) const;
  void fill_parameters();
  void make_optimizer(const OpenGroup& open);
  void resume();
  void find_memory();
  std::shared_ptr<Communicator> open_tied(const CommTracing& tracing, const Lanes& lanes) const;

  const PipelineWorkerOptions& options_;
  const Topology topology_;
  std::shared_ptr<FlatParameters> flat_;
  std::unique_ptr<GradientSync> sync_;
  std::unique_ptr<TiedGradients> tied_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<StageGroups> groups_;
  std::unique_ptr<RankBuffers> buffers_;
  std::unique_ptr<RankExperts> experts_;
  std::map<int, Stage> stages_;
  std::optional<SleptMemory> memory_;  // of the last sleep
  std::uint64_t entries_loaded_ = 0;
};

}  // namespace d9d
