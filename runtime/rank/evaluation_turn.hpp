#pragma once
// Runs a rank's stages between two steps: an evaluation of samples, or a request for texts. One at a time.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/rank/rank_evaluation.hpp"

namespace d9d {

class EvaluationTurn {
 public:
  // Call it once on a rank that will evaluate samples.
  void prepare(RankEvaluationOptions options) {
    samples_ = std::make_unique<RankEvaluation>(std::move(options));
  }

  bool running() const { return running_; }
  // The evaluation of samples. It is a bug to ask a rank that was not prepared.
  RankEvaluation& of_samples() const {
    D9D_CHECK(samples_ != nullptr, "the rank was not made for an evaluation");
    return *samples_;
  }
  // The evaluation that runs.
  RankEvaluation& now() const { return texts_ ? texts_->evaluation() : *samples_; }

  void begin(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches) {
    start();
    samples_->begin(step, microbatches);
  }
  void begin_texts(std::uint64_t step, std::unique_ptr<RankTexts> texts) {
    start();
    texts_ = std::move(texts);
    texts_->begin(step);
  }
  StepTotals finish() {
    const StepTotals totals = now().finish();
    if (texts_) made_ = texts_->take();
    texts_.reset();
    running_ = false;
    return totals;
  }
  Texts take_texts() { return std::exchange(made_, {}); }

 private:
  void start() {
    D9D_CHECK(!running_, "the rank is in an evaluation");
    running_ = true;
  }

  std::unique_ptr<RankEvaluation> samples_;
  std::unique_ptr<RankTexts> texts_;  // while they are made
  Texts made_;
  bool running_ = false;
};

}  // namespace d9d
