#pragma once
// What a user writes to infer: how a microbatch becomes model inputs, and what becomes of the outputs.
// One object per rank. Three threads call it, possibly at the same time:
//   build_forward_inputs    the Loader's, ahead of the step; its batch has `sample_numbers` int64 [B], as
//                           InferenceContext::samples, beside what the source made
//   process_outputs, flush  the compute thread of the last stage
//   state, finalize         the Trainer's
// An exception of any of them ends the job with its text; throw d9d::Error(ErrorKind::input, ...) where the
// user's file or data is at fault.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/task/task.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Shared inputs of a stage where a task makes several passes, int64 []: from 0.
inline constexpr const char* pass_number = "pass_number";
inline constexpr const char* microbatch_number = "microbatch_number";  // in this rank's pack

struct InferenceContext {
  std::uint64_t step = 0;
  int microbatch = 0;        // in this rank's pack
  const TensorMap& outputs;  // of the last stage, on the host
  const TensorMap& state;    // what build_forward_inputs put there, on the host
  // Of each row of the microbatch: the number of its sample in the data, from 0. -1: a row that only fills up
  // the last step and stands for no sample.
  std::vector<std::int64_t> samples;
};

class InferenceTask {
 public:
  virtual ~InferenceTask() = default;
  virtual TokenLabels labels() const { return TokenLabels::next; }  // as TrainTask::labels
  // As TrainTask::begin; on the thread that calls process_outputs.
  virtual void begin(const RankContext& /*context*/) {}
  virtual ForwardInputs build_forward_inputs(const MicrobatchContext& context) const = 0;
  // What runs in the place of a stage, for example many passes through it; on every rank. Default: the stage.
  virtual std::shared_ptr<StageModule> running(std::shared_ptr<StageModule> stage,
                                               StagePosition /*position*/) const {
    return stage;
  }
  // How often each microbatch goes through all stages; after each pass but the last one, what the last stage gives is
  // what the first one gets. The shared inputs then have pass_number and microbatch_number. Passes of the microbatches
  // of a step take turns, so that with as many of them as stages no stage waits for another.
  virtual int passes() const { return 1; }
  // On the last stage, without gradients; on one of the ranks that share a tensor-parallel model, with context
  // parallelism on each rank with its own tokens. Each sample is processed once in a job, also when the job is
  // stopped and started again: what was processed after the resumed checkpoint is processed anew.
  virtual void process_outputs(const InferenceContext& context) = 0;
  // Before a checkpoint is written: what was processed so far has to survive the process.
  virtual void flush() {}
  // As TrainTask::register_events.
  virtual void register_events(RankEvents& /*events*/) {}
  virtual nlohmann::json hparams() const { return nlohmann::json::object(); }
  // Of rank 0: saved with every checkpoint, given back on resume.
  virtual nlohmann::json state() const { return nlohmann::json::object(); }
  virtual void load_state(const nlohmann::json& /*state*/) {}
  // As TrainTask::finalize.
  virtual void finalize() {}
};

class SampleSource;

// What the factory of an inference task is given.
struct InferencePlace {
  std::filesystem::path results;  // the folder of results, which the first writer makes
  int rank = 0;                   // global
  // Ranks of other samples make each pass through a stage together with this one: all need equally many.
  bool in_step = false;
  int stages = 1;                                // of the pipeline
  std::shared_ptr<const SampleSource> source{};  // of the samples; null: unknown
};

}  // namespace d9d
