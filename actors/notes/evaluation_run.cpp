#include "actors/notes/evaluation_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {

void EvaluationRun::start(std::uint64_t step, std::int64_t now_ns) {
  step_ = step;
  last_ = options_.batches;
  asked_ = begun_ = computed_ = reduced_ = 0;
  sums_ = {};
  begin_ns_ = now_ns;
  progress_ = true;
  load_ahead();
}

void EvaluationRun::load_ahead() {
  const std::uint64_t wanted = std::min(last_, begun_ + loaded_ahead);
  if (wanted <= asked_) return;
  const std::uint64_t count = wanted - std::exchange(asked_, wanted);
  const std::uint64_t first = all_asked_ + 1;
  all_asked_ += count;
  actions_.load(first, count);
}

void EvaluationRun::loaded(LoadedBatch batch) {
  ++all_loaded_;
  batches_.push_back(std::move(batch));
  advance();
}

void EvaluationRun::advance() {
  const bool computing = begun_ > computed_;
  if (computing || begun_ == last_ || batches_.empty() || begun_ - reduced_ > options_.ahead) return;
  const LoadedBatch batch = std::move(batches_.front());
  batches_.pop_front();
  tokens_ = batch.tokens;
  actions_.compute(++begun_, batch);
  load_ahead();
}

std::uint64_t EvaluationRun::computed(std::uint64_t number) {
  D9D_CHECK(number == begun_ && computed_ + 1 == begun_,
            "batch {} of an evaluation was computed, batch {} is in work", number, begun_);
  computed_ = number;
  const std::uint64_t tokens = tokens_;
  advance();
  return tokens;
}

bool EvaluationRun::reduced(const StepTotals& totals, bool stop) {
  ++reduced_;
  progress_ = true;
  sums_.loss_sum += totals.loss_sum;
  sums_.weight_sum += totals.weight_sum;
  sums_.tokens += totals.tokens;
  // A rank that has not read these sums yet can have begun at most `ahead` batches after this one, so all
  // ranks can end with the same batch.
  if (stop) last_ = std::min(last_, reduced_ + options_.ahead);
  if (reduced_ == last_) return true;
  advance();
  return false;
}

double EvaluationRun::loss() const {
  const double mean = sums_.weight_sum > 0 ? sums_.loss_sum / sums_.weight_sum : 0;
  const bool is_number = sums_.weight_sum > 0 && !std::isnan(mean);
  return is_number ? mean : std::numeric_limits<double>::quiet_NaN();  // `mean` may print as -nan
}

bool EvaluationRun::made(std::uint64_t step) const {
  return step_ == step && whole() && reduced_ == last_;
}

std::optional<double> EvaluationRun::loss_after(std::uint64_t step) const {
  if (!made(step) || !std::isfinite(loss())) return std::nullopt;
  return loss();
}

}  // namespace d9d
