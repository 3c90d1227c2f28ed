#pragma once
// The model of one rank in training: the parallelised modules of its stages, their parameters and gradients
// in flat buffers, the optimizer, persistent buffers and counts of experts. All ranks build theirs once, at
// the same time, on the compute thread. Needs torch.

#include <map>
#include <memory>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/lane/stage_streams.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/pipeline/program/topology.hpp"
#include "runtime/rank/group/comm_tracing.hpp"
#include "runtime/rank/group/rank_services.hpp"
#include "runtime/rank/measured/rank_experts.hpp"
#include "runtime/rank/model/model_options.hpp"
#include "runtime/rank/model/stage_units.hpp"
#include "runtime/rank/state/rank_buffers.hpp"
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
  using Stages = std::map<int, Stage>;  // of this rank, by stage
  // Builds the model, fills it with weights, and loads the checkpoint if the job resumes one.
  // Keeps references to services and options.
  RankModel(const RankServices& services, const ModelOptions& options, const StateOptions& state,
            const ScheduleConfig& schedule, Overlap overlap, CommTracing tracing);
  ~RankModel();
  RankModel(const RankModel&) = delete;
  RankModel& operator=(const RankModel&) = delete;

  const Topology& topology() const { return topology_; }
  Stages& stages() { return stages_; }
  const std::shared_ptr<FlatParameters>& flat() const { return flat_; }
  GradientSync& sync() { return *sync_; }
  const TiedGradients& tied() const { return *tied_; }
  Optimizer& optimizer() { return *optimizer_; }
  RankBuffers& buffers() { return *buffers_; }
  RankExperts& experts() { return *experts_; }
  const std::vector<int>& bucket_groups() const { return bucket_groups_; }  // see PreparedRank
  std::uint64_t entries_loaded() const { return entries_loaded_; }

  // The lanes of composed actions. Null unless actions are composed and overlap, and a module has a
  // communicator: without one no action waits, and lanes are useless.
  ComputeLanes* lanes() const { return lanes_.get(); }
  // The streams of the stages on a device. Null unless actions are composed and overlap.
  const StageStreams* streams() const { return streams_.get(); }
  // Opens groups whose calls inside an action are measured.
  OpenGroup measured(OpenGroup open) const;
  // Makes the current stream of a device wait for the sums of gradients, before later work reads them.
  void wait_for_reductions() const;

 private:
  StagePosition position(int stage) const {
    return {stage, topology_.num_stages(), services_.device->place().str()};
  }
  bool is_of_plugin() const { return !options_.plugin_name.empty(); }
  // `overlaps`: composed actions do.
  void open_groups(bool overlaps, const OpenGroup& open);
  std::vector<StageParameter> parameters_of(const Stage& built) const;
  std::vector<StageParameter> build_stages();
  void flatten(const std::vector<StageParameter>& parameters);
  void fill_state(const OpenGroup& open);
  void check_parameters(const OpenGroup& open) const;
  void fill_parameters();
  void make_optimizer(const OpenGroup& open);
  void tell_of_stages() const;
  void share_gradients();
  std::shared_ptr<Communicator> open_tied() const;

  const RankServices& services_;
  const ModelOptions& options_;
  const StateOptions& state_;
  const Topology topology_;
  const CommTracing tracing_;
  std::unique_ptr<ComputeLanes> lanes_;  // outlives the modules' communicators
  std::unique_ptr<StageStreams> streams_;
  std::shared_ptr<FlatParameters> flat_;
  std::unique_ptr<GradientSync> sync_;
  std::unique_ptr<TiedGradients> tied_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<StageGroups> groups_;
  std::unique_ptr<RankBuffers> buffers_;
  std::unique_ptr<RankExperts> experts_;
  Stages stages_;
  std::vector<int> bucket_groups_;
  std::uint64_t entries_loaded_ = 0;
};

}  // namespace d9d
