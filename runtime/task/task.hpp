#pragma once
// What a user writes to train: how a microbatch becomes model inputs, and what the loss is.
// One task object per rank. Three threads call it, possibly at the same time:
//   build_forward_inputs         the Loader's, ahead of the step: step 8 may be built while step 7 is computed; that
//                                of the evaluation's Loader, where the job has one
//   compute_loss, update_metrics, carry  the compute thread of the last stage
//   state, finalize              the Trainer's
// So the first three are const and keep the data of a microbatch in `state` of ForwardInputs. An exception of any of
// them ends the job with its text; throw d9d::Error(ErrorKind::input, ...) where the user's file or data is at fault.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/token_labels.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

class RankEvents;
struct RankContext;

struct MicrobatchContext {
  std::uint64_t step = 0;  // first step is 1; of an evaluation: its batches, counted since the process began
  int microbatch = 0;      // in this rank's part of the phase's batch
  const TensorMap& batch;  // as the data source made it
  int phase = 0;           // of phases(); of an evaluation the first one that trains
  // What create_metrics() declares (in an inference job: none), of this step or evaluation, however far ahead it is
  // built. Of the ranks that build the same tokens one counts, and what the others count is dropped. Null in tests
  // alone.
  Compose* metrics = nullptr;
};

struct ForwardInputs {
  TensorMap inputs;  // the first stage's input
  TensorMap shared;  // given to every stage
  TensorMap state;   // kept by the framework until compute_loss of the same microbatch
};

struct LossContext {
  std::uint64_t step = 0;
  int microbatch = 0;
  const TensorMap& outputs;  // of the last stage
  const TensorMap& state;
  int phase = 0;  // as in MicrobatchContext
  // What carry() left of this step's forward phases over the same batch (those of earlier updates, too), for each of
  // this rank's microbatches; that of this one is carried[microbatch]. Empty when no phase is forward alone, and in
  // an evaluation.
  std::span<const TensorMap> carried = {};
  // As above; which ranks count: as in update_metrics. To read outputs here may wait for a GPU.
  Compose* metrics = nullptr;
};

// The step's loss is sum(loss * weight) / sum(weight) over all microbatches of all ranks that hold different samples.
struct Loss {
  at::Tensor loss;    // scalar, differentiable
  double weight = 1;  // > 0, or 0 for a microbatch that does not count
};

class TrainTask {
 public:
  virtual ~TrainTask() = default;
  // What a step is made of (step_phases.hpp), the same on every rank and at every step. Empty: one phase that trains
  // on all of the step's samples. build_forward_inputs, compute_loss and update_metrics are told the phase.
  virtual std::vector<StepPhase> phases() const;
  // The updates to which the phases lead, in their order, and what each one moves. Empty: one that moves all.
  virtual std::vector<StepUpdate> updates() const;
  // What the labels of built-in sources are, where no column or file gives them.
  virtual TokenLabels labels() const;
  // Once on every rank, before the first step, on the thread that calls compute_loss where the rank has the last stage:
  // the place to open groups of ranks (rank_context.hpp). build_forward_inputs may be called already.
  virtual void begin(const RankContext& context);
  virtual ForwardInputs build_forward_inputs(const MicrobatchContext& context) const = 0;
  virtual Loss compute_loss(const LossContext& context) const = 0;
  // After the forward of a microbatch of a forward phase: what is put into `carried`, the slot of this microbatch and
  // batch, is detached and kept until the end of the step for later phases. Called on every rank of the last stage.
  virtual void carry(const LossContext& context, TensorMap& carried) const;
  // Declares the metrics of this task by name, the same on every rank:
  //   metrics.add("auroc", std::make_unique<BinaryAuroc>());
  // Any Metric will do, those of runtime/metric and a plugin's own. May be called more than once.
  virtual void create_metrics(Compose& metrics) const;
  // Counts one microbatch, after its loss: metrics.get<BinaryAuroc>("auroc").update(probabilities, labels).
  // Called where the loss is counted: on the last stage, on one of the ranks that share a tensor-parallel model; with
  // context parallelism on each rank with its own tokens. So each sample or token is counted once in the job, and the
  // values reported are those of all microbatches of all ranks since the last report. Metrics may be updated in all
  // other functions, too: through `metrics` of their contexts, else by RankContext::count.
  virtual void update_metrics(const LossContext& context, Compose& metrics) const;
  // Once per rank, before anything is built: subscribes to what happens on the rank (rank_events.hpp).
  virtual void register_events(RankEvents& events);
  virtual nlohmann::json hparams() const;
  // Saved with every checkpoint, given back on resume.
  virtual nlohmann::json state() const;
  virtual void load_state(const nlohmann::json& state);
  // Called once at the end of the job on the task of every rank, when its last step is applied and its last checkpoint
  // committed; after a stop by a signal too, and when the checkpoint that was resumed left nothing to train. Not called
  // when the job fails or a second signal cuts it short. No other function runs at the same time: a
  // build_forward_inputs for a step that a signal has cancelled is awaited. An exception ends the job with its text and
  // exit code 1; the checkpoints that were committed stay.
  virtual void finalize();
};

}  // namespace d9d
