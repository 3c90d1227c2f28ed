#pragma once
// The evaluations of one rank, batch after batch: the next batch is loaded while one is computed, and a rank begins
// one only if the slowest rank is at most `ahead` batches behind, because those between hold activations. The
// Trainer's bookkeeping; every rank comes to the same end, because all read the same sums.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/state/checkpoint/early_stopping.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

struct LoadedBatch {
  std::uint64_t step = 0;                   // as the Loader counts
  std::vector<std::uint64_t> microbatches;  // tickets
  std::uint64_t tokens = 0;
  double flops = 0;
  std::uint64_t next_sample = 0;
};

// Between two steps, forward alone.
struct EvaluationOptions {
  std::uint64_t batches = 0;               // of an evaluation
  std::function<bool(std::uint64_t)> due;  // after this step?
  std::uint64_t ahead = 1;
  // What makes one better than another, and when the job ends for it; as the checkpoint that is resumed left it.
  std::string metric = "loss";
  bool higher_is_better = false;
  std::optional<EarlyStopping> stopping{};
};

class EvaluationRun {
 public:
  struct Actions {
    // Of the evaluation's Loader: `count` batches, the first of which is its `first`, counted over all evaluations.
    std::function<void(std::uint64_t first, std::uint64_t count)> load;
    // `number` of the evaluation, from 1.
    std::function<void(std::uint64_t number, const LoadedBatch& batch)> compute;
  };
  EvaluationRun(EvaluationOptions options, Actions actions)
      : options_(std::move(options)), actions_(std::move(actions)) {}

  bool due(std::uint64_t step) const { return step_ != step && options_.due(step); }  // and still to come
  void start(std::uint64_t step, std::int64_t now_ns);
  void loaded(LoadedBatch batch);
  // The tokens of the batch; bug error for another number than the last begun.
  std::uint64_t computed(std::uint64_t number);
  // `totals` over all ranks, of the batches in their order. `stop`: end with the last batch that any rank may
  // have begun. True when the evaluation is over.
  bool reduced(const StepTotals& totals, bool stop);

  // A batch was asked for and did not come yet.
  bool loading() const { return all_loaded_ < all_asked_; }
  // Whether a batch was reduced since the last call, or the evaluation began.
  bool take_progress() { return std::exchange(progress_, false); }

  bool whole() const { return last_ == options_.batches; }
  double loss() const;  // weighted mean; NaN when nothing counts
  double weight() const { return sums_.weight_sum; }
  // Where the last evaluation was whole, is that of `step` and is a number.
  std::optional<double> loss_after(std::uint64_t step) const;
  std::uint64_t tokens() const { return static_cast<std::uint64_t>(sums_.tokens); }
  std::int64_t begin_ns() const { return begin_ns_; }

 private:
  void load_ahead();
  void advance();

  EvaluationOptions options_;
  Actions actions_;
  std::uint64_t all_asked_ = 0, all_loaded_ = 0;  // in all evaluations so far
  std::deque<LoadedBatch> batches_;
  // Of this evaluation: its end, and how far each kind of work has come.
  std::uint64_t last_ = 0, asked_ = 0, begun_ = 0, computed_ = 0, reduced_ = 0;
  std::uint64_t tokens_ = 0;  // of the batch in work
  StepTotals sums_;
  std::uint64_t step_ = 0;  // training steps done before it
  std::int64_t begin_ns_ = 0;
  bool progress_ = false;
};

}  // namespace d9d
