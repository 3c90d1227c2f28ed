// The Trainer's evaluations. An evaluation runs after a step's update was requested and before the step
// ends: the step's checkpoint and the next step come after the evaluation.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "actors/loop/trainer.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

// JSON has neither infinities nor NaN.
nlohmann::json json_number(double number) {
  return std::isfinite(number) ? nlohmann::json(number) : nlohmann::json();
}

std::string listed(const nlohmann::json& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics.items()) text += ", " + name;
  return text;
}

}  // namespace

EvaluationRun::Actions Trainer::evaluation_actions() {
  EvaluationRun::Actions actions;
  actions.load = [this](std::uint64_t first, std::uint64_t count) {
    tell<wire::LoadBatches>({Role::evaluation_loader, self().index}, [&](wire::LoadBatches::Builder load) {
      load.setStep(first);
      load.setCredits(static_cast<std::uint32_t>(count));
    });
  };
  actions.compute = [this](std::uint64_t number, const LoadedBatch& batch) {
    tell<wire::BeginStep>({Role::rank_executor, self().index}, [&](wire::BeginStep::Builder begin) {
      begin.setStep(current_);
      fill_pass(begin.initPass(), {PassKind::EVALUATE, static_cast<std::uint32_t>(number)});
      fill_list(begin.initMicrobatches(static_cast<unsigned>(batch.microbatches.size())), batch.microbatches);
    });
  };
  return actions;
}

void Trainer::batch_ready(wire::BatchReady::Reader message) {
  if (sender().role != Role::evaluation_loader) return StepLoop::batch_ready(message);
  evaluation_->loaded(batch_of(message));
  finish_when_done();
}

bool Trainer::is_loading() const {
  return StepLoop::is_loading() || (evaluation_ && evaluation_->loading());
}

bool Trainer::take_progress() {
  if (std::exchange(rollouts_progress_, false)) return true;
  return is_evaluating(state_) && evaluation_->take_progress();
}

void Trainer::evaluate() {
  state_.become(StepState::evaluating);
  publish<events::EvaluationPre>();
  evaluation_->start(current_, world().clock.now_ns());
}

void Trainer::evaluated(wire::StepComputed::Reader message) {
  D9D_CHECK(state_ == StepState::evaluating, "batch {} of an evaluation after step {} comes outside of one",
            message.getPass().getNumber(), message.getStep());
  const std::uint64_t tokens = evaluation_->computed(message.getPass().getNumber());
  StepTotals mine{.loss_sum = message.getLossSum(),
                  .weight_sum = message.getWeightSum(),
                  .tokens = options_.counts_tokens ? static_cast<double>(tokens) : 0};
  const RankWishes wishes = take_wishes(signals_);
  reduce_over_world({{ReduceOp::sum, to_values(mine)}}, &wishes);
}

void Trainer::evaluated(wire::ValuesReduced::Reader message) {
  auto values = to_vector<double>(message.getValues());
  const RankWishes summed = take_wishes(values);
  if (state_ == StepState::comparing) {
    if (summed.ends > 0) end_here();
    return conclude_step();
  }
  const StepTotals totals = step_totals_from(values);
  obey(summed);
  if (evaluation_->reduced(totals, stop_signal_of(summed) != 0)) finish_evaluation();
}

void Trainer::finish_evaluation() {
  const std::int64_t now = world().clock.now_ns();
  step_begin_ns_ = now;  // the next step's time does not count it
  if (!evaluation_->whole()) return conclude_step();
  const double loss = evaluation_->loss();
  if (options_.rank == 0) {
    tell<wire::EvaluationFinished>({Role::tracker, 0}, [&](wire::EvaluationFinished::Builder finished) {
      finished.setStep(current_);
      finished.setLoss(loss);
      finished.setTokens(evaluation_->tokens());
      finished.setWeight(evaluation_->weight());
      finished.setSeconds(1e-9 * static_cast<double>(now - evaluation_->begin_ns()));
    });
  }
  tell<wire::CollectMetrics>({Role::rank_executor, self().index}, [&](wire::CollectMetrics::Builder collect) {
    collect.setStep(current_);
    collect.setEvaluation(true);
    collect.setLoss(loss);
  });
  // The metrics of an evaluation are reduced while the job goes on. Its event waits for them,
  // because it carries them.
  const bool compares = training_.evaluation->stopping || training_.evaluation->metric != "loss";
  if (options_.rank == 0 && (compares || listened_to_.maybe(events::EvaluationPost::train)))
    return state_.become(StepState::measuring);
  publish<events::EvaluationPost>(shown_json(nlohmann::json{{"loss", json_number(loss)}}));
  compare_evaluation(loss);
}

void Trainer::metric_values(wire::MetricValues::Reader message) {
  if (!message.getEvaluation() || state_ != StepState::measuring) return;
  const double loss = evaluation_->loss();
  nlohmann::json metrics = nlohmann::json::object();
  const auto names = message.getNames();
  const auto values = message.getValues();
  for (unsigned i = 0; i < names.size(); ++i) metrics[names[i].cStr()] = json_number(values[i]);
  publish<events::EvaluationPost>(
      shown_json(nlohmann::json{{"loss", json_number(loss)}, {"metrics", metrics}}));
  const std::string& metric = training_.evaluation->metric;
  if (metric == "loss") return compare_evaluation(loss);
  D9D_REQUIRE(metrics.contains(metric), "evaluation.metric: the evaluation has no \"{}\"; it has loss{}",
              metric, listed(metrics));
  const nlohmann::json& value = metrics.at(metric);
  if (value.is_number()) compared_ = {current_, value.get<double>()};
  compare_evaluation(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
}

// Rank 0 decides for all ranks, because a metric may differ in the last bit on another kind of host.
void Trainer::compare_evaluation(std::optional<double> value) {
  auto& stopping = training_.evaluation->stopping;
  if (!stopping) return conclude_step();
  state_.become(StepState::comparing);
  RankWishes wishes;
  if (options_.rank == 0 && stopping->add(current_, value)) {
    requests_.end(stopping->why(training_.evaluation->metric));
    wishes.ends = 1;
  }
  reduce_over_world({{ReduceOp::sum, {}}}, &wishes);
}

}  // namespace d9d
