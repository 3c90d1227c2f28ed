#pragma once
// The MicrobatchFeed of a job: samples of a source become tensors, each rank keeps its part of the sequence, and the
// task makes the model's inputs of it. No torch in this header.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/data/batch_maths.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/rank/feed/context_place.hpp"
#include "runtime/rank/feed/microbatch_feed.hpp"

namespace d9d {

class Collation;
class Compose;
class SampleSource;
class TrainTask;

struct SourceFeedOptions {
  std::shared_ptr<const SampleSource> source;
  std::shared_ptr<const Collation> collation = nullptr;  // null: samples are stacked
  BatchMaths maths;                                      // of each of the step's batches
  StepPhases phases{};
  int data_rank = 0;
  // The first step that this process computes and its first sample, of all data ranks: from the checkpoint.
  std::uint64_t first_step = 1;
  std::uint64_t first_sample = 0;
  // No step reaches beyond this sample; nothing: the data has no end.
  std::optional<std::uint64_t> end_sample{};
  // Of a feed with one phase, an evaluation's: the number that the task is told.
  int phase = 0;
  // After so many steps the samples begin anew, as every evaluation has the same ones; 0: never.
  std::uint64_t cycle_steps = 0;
  // The last batch of data that ends has the samples that are left, however few. A microbatch for which none is left is
  // computed and counts nowhere: it is marked (microbatch_parcel.hpp).
  bool shortens_last = false;
  // Of an inference job: the state of a microbatch gets the numbers of its samples, -1 for those from end_sample on,
  // which fill up the last step.
  bool numbers_samples = false;
  std::shared_ptr<const TrainTask> task;
  // Those of the RankWorker that takes the microbatches; what the task counts in build_forward_inputs goes with them.
  std::function<void(Compose&)> declare_metrics{};
  bool counts = true;  // one of the ranks with the same samples does
  ContextPlace place{};
  std::int64_t prediction_depths = 0;  // further tokens that the model predicts (next_tokens.hpp)
  // Of the model for a token in a sequence of `length`, for StepInputs::flops; empty: 0.
  std::function<double(std::int64_t length)> flops_per_token{};
  int threads = 1;  // for the tensor operations of the calling thread
  TensorTable* table = nullptr;
};

// Call this and load() on one thread. An exception of the task's build_forward_inputs names step and microbatch.
std::unique_ptr<MicrobatchFeed> make_source_feed(SourceFeedOptions options);

}  // namespace d9d
