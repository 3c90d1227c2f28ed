#pragma once
// Evaluates on one rank: runs its stages forward alone, without a graph, between two steps of training. It
// uses the modules of training, so the only extra memory is that of activations under way. Needs torch.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/pipeline/order/rank_order.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/text/text_request.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

class InferenceTask;
class Plan;
class PromptedTexts;
class TrainTask;

struct RankEvaluationOptions {
  std::map<int, std::shared_ptr<StageModule>> modules;  // of this rank, by stage
  Topology topology;
  int pipeline_rank = 0;
  std::uint64_t noise_seed = 0;
  std::shared_ptr<const TrainTask> task;
  int phase = 0;  // the phase of the task's step whose loss is computed
  // In an inference job: gets the outputs. The task's loss and metrics are then not called.
  std::shared_ptr<InferenceTask> inference;
  bool counts_loss = true;  // true on one of the ranks that compute the same loss of the same samples
  std::shared_ptr<Device> device = cpu_device();
  TensorTable* table = nullptr;
};

class RankEvaluation {
 public:
  explicit RankEvaluation(RankEvaluationOptions options);

  void begin(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches);
  StageCore& core(int stage) { return *cores_.at(stage); }
  RankOrder& order() { return order_; }
  // Returns the stage and the microbatch to which the outputs of a forward go.
  std::pair<int, int> after(const Action& action) const;
  // Call it when all actions are done. Returns the sums of the last stage, or 0 on a rank without it.
  StepTotals finish();

  // Returns the task's metrics (Compose::state), counted since the last call.
  std::vector<double> take_metrics() { return metrics_.take(); }
  // The metrics for updates that the task makes outside its losses.
  Compose& metrics() { return metrics_.here(); }

 private:
  int passes() const;
  StageCoreOptions core_options(int stage, const std::shared_ptr<StageModule>& module);
  void add_loss(const LastStageOutputs& outputs);
  void hand_over(const LastStageOutputs& outputs);
  TensorMap arrived(TensorMap copies) const;

  const RankEvaluationOptions options_;
  RankOrder order_;
  RankMetrics metrics_;
  StepTotals totals_;
  int microbatches_ = 0;  // of the step's pack
  std::map<int, std::unique_ptr<StageCore>> cores_;
  std::map<std::size_t, std::shared_ptr<const PipelineProgram>> programs_;  // by microbatches
};

// Runs the stages of a rank for one TextRequest. Owns the caches for it.
class RankTexts {
 public:
  // `stages` must have no task. Input error on a mesh whose ranks share sequences.
  RankTexts(RankEvaluationOptions stages, const Plan& plan, int rank, TextRequest request);

  void begin(std::uint64_t step);
  RankEvaluation& evaluation() { return *evaluation_; }
  // Returns the texts on one rank of the job, nothing on the others.
  Texts take();

 private:
  std::shared_ptr<PromptedTexts> prompted_;
  std::unique_ptr<RankEvaluation> evaluation_;
  const bool takes_;
};

}  // namespace d9d
