#pragma once
// What a rank needs to evaluate: its stages run forward alone, without a graph, between two steps of training. The
// modules are training's own, so an evaluation costs no memory but that of activations under way. Needs torch.

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
  int phase = 0;  // of the task's step: whose loss it is
  // In an inference job the outputs go there; then the task's loss and metrics are not asked for.
  std::shared_ptr<InferenceTask> inference;
  bool counts_loss = true;  // one of the ranks that compute the same loss of the same samples does
  std::shared_ptr<Device> device = cpu_device();
  TensorTable* table = nullptr;
};

class RankEvaluation {
 public:
  explicit RankEvaluation(RankEvaluationOptions options);

  void begin(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches);
  StageCore& core(int stage) { return *cores_.at(stage); }
  RankOrder& order() { return order_; }
  // The stage and microbatch that the outputs of a forward are for.
  std::pair<int, int> after(const Action& action) const;
  // Call it when all actions are done: sums of the last stage, 0 elsewhere.
  StepTotals finish();

  // The metrics that the task declares (Compose::state), counted since the last call.
  std::vector<double> take_metrics() { return metrics_.take(); }
  // Where what was counted beside the losses goes.
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

// The stages of a rank for one TextRequest; its caches live as long.
class RankTexts {
 public:
  // Input error on a mesh whose ranks share sequences. `stages` without a task.
  RankTexts(RankEvaluationOptions stages, const Plan& plan, int rank, TextRequest request);

  void begin(std::uint64_t step);
  RankEvaluation& evaluation() { return *evaluation_; }
  // What came of the prompts, on one rank of the job; empty on the others.
  Texts take();

 private:
  std::shared_ptr<PromptedTexts> prompted_;
  std::unique_ptr<RankEvaluation> evaluation_;
  const bool takes_;
};

}  // namespace d9d
