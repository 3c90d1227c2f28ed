#pragma once
// The evaluations of one rank, batch after batch. The next batch is loaded while one is computed. A
// rank begins a batch only if the slowest rank is at most `ahead` batches late, because each batch
// between them holds activations. All ranks end after the same batch, because all read the same
// sums. The Trainer's bookkeeping.

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
  std::uint64_t step = 0;                   // in the Loader's count
  std::vector<std::uint64_t> microbatches;  // tickets
  std::uint64_t tokens = 0;
  double flops = 0;
  std::uint64_t next_sample = 0;
  std::string stream_state{};  // JSON
  bool is_last = false;        // the data gives no further step
};

// An evaluation runs between two steps, forward only.
struct EvaluationOptions {
  std::uint64_t batches = 0;               // per evaluation
  std::function<bool(std::uint64_t)> due;  // whether one follows this step
  std::uint64_t ahead = 1;
  // Which value decides what evaluation is better, and when the job ends because of it. `stopping` has the
  // state of the resumed checkpoint.
  std::string metric = "loss";
  bool higher_is_better = false;
  std::optional<EarlyStopping> stopping{};
};

class EvaluationRun {
 public:
  static constexpr std::uint64_t loaded_ahead = 2;  // batches, beside the one that is computed
  struct Actions {
    // Asks the evaluation's Loader for `count` batches. `first` is the number of the first
    // one over all evaluations.
    std::function<void(std::uint64_t first, std::uint64_t count)> load;
    // Computes a batch. `number` counts within the evaluation, from 1.
    std::function<void(std::uint64_t number, const LoadedBatch& batch)> compute;
  };
  EvaluationRun(EvaluationOptions options, Actions actions)
      : options_(std::move(options)), actions_(std::move(actions)) {}

  bool due(std::uint64_t step) const { return step_ != step && options_.due(step); }  // and still to come
  void start(std::uint64_t step, std::int64_t now_ns);
  void loaded(LoadedBatch batch);
  // Returns the tokens of the batch. Bug error when `number` is not the batch that was begun last.
  std::uint64_t computed(std::uint64_t number);
  // Adds the totals of the next batch, summed over all ranks. `stop`: the evaluation ends with the last
  // batch that any rank may have begun. Returns true when the evaluation is over.
  bool reduced(const StepTotals& totals, bool stop);

  // True while a batch was asked for and has not come.
  bool loading() const { return all_loaded_ < all_asked_; }
  // Whether a batch was reduced since the last call, or the evaluation began.
  bool take_progress() { return std::exchange(progress_, false); }

  bool whole() const { return last_ == options_.batches; }
  // True when the last evaluation followed `step` and was whole.
  bool made(std::uint64_t step) const;
  // True when one is due after `step` and was not made, because a signal ended the run before it or within it.
  bool owed(std::uint64_t step) const { return options_.due(step) && !made(step); }
  double loss() const;  // weighted mean; NaN when nothing counts
  double weight() const { return sums_.weight_sum; }
  // The loss, if the last evaluation followed `step`, was whole and its loss is a number.
  std::optional<double> loss_after(std::uint64_t step) const;
  std::uint64_t tokens() const { return static_cast<std::uint64_t>(sums_.tokens); }
  std::int64_t begin_ns() const { return begin_ns_; }

 private:
  void load_ahead();
  void advance();

  EvaluationOptions options_;
  Actions actions_;
  std::uint64_t all_asked_ = 0, all_loaded_ = 0;  // batches of all evaluations so far
  std::deque<LoadedBatch> batches_;
  // Numbers of this evaluation's batches: the last one, and how far each kind of work has come.
  std::uint64_t last_ = 0, asked_ = 0, begun_ = 0, computed_ = 0, reduced_ = 0;
  std::uint64_t tokens_ = 0;  // in the batch in work
  StepTotals sums_;
  std::uint64_t step_ = 0;  // training steps done before it
  std::int64_t begin_ns_ = 0;
  bool progress_ = false;
};

}  // namespace d9d
