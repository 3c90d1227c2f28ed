#pragma once
// The MicrobatchFeed of a job. It makes tensors from samples of a source and keeps this rank's part of each
// sequence; the task makes the model's inputs from them. No torch in this header.

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/data/batch_maths.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/rank/feed/context_place.hpp"
#include "runtime/rank/feed/microbatch_feed.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// For rows of a batch that are filled up where a token would see what fills them up: on the left, and on the right of
// models whose tokens see those after them.
// Returns document_starts, int64 [B, S], in which what fills up is a document of its own (starts_apart()); undefined
// where no token would see any of it. By the batch's token_mask [B, S] and document_starts, whole rows on the host.
// `causal`: tokens see none after them. A causal model need not be told of what comes after all tokens of a row, so
// its attention stays the one of whole rows there.
at::Tensor starts_without_seen_filling(const TensorMap& batch, bool causal);

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
  // Of a source of streams or rollouts: the states of the checkpoint's data replicas; none: it begins anew.
  std::vector<nlohmann::json> stream_states{};
  std::uint64_t text_seed = 0;  // of rollouts
  // The samples before this one are used; nothing: the data has no end.
  std::optional<std::uint64_t> end_sample{};
  // The phase number that the task gets, in a feed with one phase (of an evaluation).
  int phase = 0;
  // Start again with the first sample after so many steps, because every evaluation
  // has the same samples; 0: never.
  std::uint64_t cycle_steps = 0;
  // The last batch before end_sample has only the samples that are left. A microbatch without any is
  // computed, but its results are dropped: it is marked (microbatch_parcel.hpp).
  bool shortens_last = false;
  // In training: the last step before end_sample has the samples that are left, filled up with rows that count
  // nowhere. Without it the step is left out.
  bool fills_last = false;
  // In an inference job: the state of a microbatch gets the numbers of its samples. Samples from end_sample
  // on, which fill up the last step, have number -1.
  bool numbers_samples = false;
  std::shared_ptr<const TrainTask> task;
  // Must be the same as the RankWorker's: updates that the task makes in
  // build_forward_inputs travel with the microbatches.
  std::function<void(Compose&)> declare_metrics{};
  bool counts = true;  // true on one of the ranks with the same samples
  ContextPlace place{};
  bool causal = true;                  // tokens of the model see none after them
  std::int64_t prediction_depths = 0;  // further tokens that the model predicts (next_tokens.hpp)
  // The model's operations for a token in a sequence of `length`, for StepInputs::flops; empty: 0.
  std::function<double(std::int64_t length)> flops_per_token{};
  int readers = 0;  // threads that read samples (read_ahead.hpp); 0: the calling thread; not of a stream
  std::chrono::milliseconds sample_timeout{0};
  int threads = 1;  // for the tensor operations of the calling thread
  TensorTable* table = nullptr;
};

// Call this and load() on the same thread. An exception of the task's build_forward_inputs is rethrown with
// step and microbatch in its text.
std::unique_ptr<MicrobatchFeed> make_source_feed(SourceFeedOptions options);

}  // namespace d9d
