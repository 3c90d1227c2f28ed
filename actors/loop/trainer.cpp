#include "actors/loop/trainer.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages/lists.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

// The context of the event after a step.
std::string context_of(const StepResult& result) {
  if (result.skips) return R"({"loss":null,"grad_norm":null,"skipped":true})";
  // JSON has neither infinities nor NaN.
  const auto text = [](double number) { return std::isfinite(number) ? fmt::format("{}", number) : "null"; };
  return fmt::format(R"({{"loss":{},"grad_norm":{}}})", text(result.scale.loss), text(result.scale.norm));
}

void say_skipped(std::uint64_t step, const StepResult& result, const StepEnd& end) {
  const std::string so_far = counted(end.skipped(), "step");
  if (!result.counts) {
    if (end.without_labels() > 1) return;
    return log::warn(
        "no label of the whole batch counts in step {}: it changes nothing, and so will others like it "
        "(skipped_steps counts them). Are all labels meant to be ignored?",
        step);
  }
  if (result.hook_skips)
    return log::info("a gradient hook skips the update of step {}, {} so far", step, so_far);
  log::warn("loss is {} and gradient norm is {}: the update of step {} is skipped, {} so far",
            result.scale.loss, result.scale.norm, step, so_far);
}

}  // namespace

Trainer::Trainer(World& world, TrainerOptions options)
    : StepLoop(world, std::move(options.loop), {PassKind::TRAIN, "train"},
               StepRequests(options.training.roll_backs, options.training.lr_factor)),
      training_(std::move(options.training)),
      step_end_(training_.step_end) {
  if (options_.before.step) {
    requests_.taken({*options_.before.step, training_.step_end.skipped_before});
    requests_.committed(*options_.before.step);
  }
  if (training_.lr_factor_wanted) requests_.scale_learning_rate(*training_.lr_factor_wanted);
  if (training_.evaluation) evaluation_.emplace(*training_.evaluation, evaluation_actions());
  requests_.take_over(training_.owed.texts, training_.owed.texts_due, options_.rank == 0);
}

void Trainer::behavior(Handlers& handlers) {
  StepLoop::behavior(handlers);
  handlers.on(this, &Trainer::gradients_hooked);
  handlers.on(this, &Trainer::step_applied);
  handlers.on(this, &Trainer::roll_back);
  handlers.on(this, &Trainer::state_restored);
  handlers.on(this, &Trainer::generate_texts);
  handlers.on(this, &Trainer::write_rollouts);
  handlers.on(this, &Trainer::metric_values);
  handlers.on(this, &Trainer::scale_learning_rate);
}

void Trainer::step_computed(wire::StepComputed::Reader message) {
  const PassKind kind = message.getPass().getKind();
  if (kind == PassKind::TEXTS) return texts_computed();
  if (kind == PassKind::ROLLOUTS) return rollouts_computed();
  if (kind == PassKind::EVALUATE) return evaluated(message);
  StepLoop::step_computed(message);
}

std::vector<StepReduction> Trainer::reductions_of(const StepTotals& mine) const {
  return step_end_.reductions_of(mine);
}

void Trainer::values_reduced(wire::ValuesReduced::Reader message) {
  if (is_evaluating(state_)) return evaluated(message);
  auto values = to_vector<double>(message.getValues());
  if (is_last_update() && !agreed_) agreed_ = take_wishes(values);
  const auto result = step_end_.add(values, static_cast<std::size_t>(update_));
  if (!result) {
    if (const StepTotals* sums = step_end_.sums_for_hooks()) hook_gradients(*sums);
    return;
  }
  made_.push_back(*result);
  if (!is_last_update()) {
    apply(*result);
    return begin_update(update_ + 1);
  }
  collect_metrics_when_due(result->scale);
  apply(*result);
  const StepResult whole = step_so_far();
  made_.clear();
  report(whole, training_.base_lr * lr_multiplier());
  publish<events::StepPost>(context_of(whole));
  obey(*std::exchange(agreed_, std::nullopt));
  conclude_step();
}

// The numbers of a step's updates: sums, the loss over all of them, and the norm of the last one.
StepResult Trainer::step_so_far() const {
  StepResult whole = made_.back();
  for (auto earlier = made_.begin(); earlier + 1 != made_.end(); ++earlier) {
    whole.totals.loss_sum += earlier->totals.loss_sum;
    whole.totals.weight_sum += earlier->totals.weight_sum;
    whole.totals.tokens += earlier->totals.tokens;
    whole.totals.flops += earlier->totals.flops;
    whole.skips = whole.skips && earlier->skips;
  }
  if (made_.size() > 1) whole.scale.loss = whole.totals.loss_sum / whole.totals.weight_sum;
  return whole;
}

void Trainer::hook_gradients(const StepTotals& sums) {
  state_.become(StepState::hooking);
  tell<wire::HookGradients>({Role::rank_executor, self().index}, [&](wire::HookGradients::Builder hook) {
    hook.setStep(current_);
    hook.setWeight(sums.weight_sum);
    hook.setLoss(sums.loss_sum / sums.weight_sum);
  });
}

void Trainer::gradients_hooked(wire::GradientsHooked::Reader message) {
  D9D_CHECK(state_ == StepState::hooking && message.getStep() == current_,
            "gradients of step {} are hooked while step {} is {}", message.getStep(), current_,
            name_of(state_));
  state_.become(StepState::reducing);
  reduce_over_world({step_end_.reduction_of_hooked(message.getNormShare(), message.getSkip())});
}

// Sent before the update, so that metrics are reduced while the optimizer works.
void Trainer::collect_metrics_when_due(const StepScale& scale) {
  if (!options_.shown.metrics_due(current_)) return;
  tell<wire::CollectMetrics>({Role::rank_executor, self().index}, [&](wire::CollectMetrics::Builder collect) {
    collect.setStep(current_);
    collect.setGradientScale(scale.mean);
  });
}

// A skipped update has no events.
void Trainer::apply(const StepResult& result) {
  D9D_CHECK(!applying_, "step {} is applied while the optimizer works on step {}", current_, *applying_);
  if (!result.skips) publish<events::OptimizerStepPre>();
  tell<wire::ApplyStep>({Role::rank_executor, self().index}, [&](wire::ApplyStep::Builder apply) {
    apply.setStep(current_);
    apply.setGradientScale(result.scale.grad);
    apply.setLrMultiplier(lr_multiplier());
    apply.setSkip(result.skips);
    apply.setLoss(step_so_far().scale.loss);
    apply.setGradNorm(result.scale.norm);
    apply.setLearningRate(training_.base_lr * lr_multiplier());
    fill_list(apply.initCosts(static_cast<unsigned>(result.totals.costs.size())), result.totals.costs);
  });
  applying_ = current_;
  if (!result.skips) return publish<events::OptimizerStepPost>();
  if (options_.rank == 0) say_skipped(current_, result, step_end_);
}

void Trainer::step_applied(wire::StepApplied::Reader message) {
  D9D_CHECK(applying_ == message.getStep(), "step {} was applied and nobody waits for it", message.getStep());
  applying_.reset();
  tell_events();
  reduce_when_followed();
  finish_when_done();
}

void Trainer::metric_state(wire::MetricState::Reader message) {
  const std::uint64_t step = message.getStep();
  kept_ = {.lr_factor = requests_.lr_factor()};
  if (evaluation_) {
    kept_.stopping = training_.evaluation->stopping;
    kept_.evaluation_loss = evaluation_->loss_after(step);
    kept_.evaluation_metric = metric_after(step);
    kept_.owes_evaluation = evaluation_->owed(step);
  }
  StepLoop::metric_state(message);
}

std::string Trainer::state_after(std::uint64_t /*step*/) const {
  const auto& loss = kept_.evaluation_loss;
  return (requests_.roll_backs() > 0 ? fmt::format(R"(,"roll_backs":{})", requests_.roll_backs()) : "") +
         (loss ? fmt::format(R"(,"evaluation_loss":{})", *loss) : "");
}

void Trainer::add_state_of_rank_0(nlohmann::json& state) const {
  if (kept_.lr_factor != 1) state["lr_factor"] = kept_.lr_factor;
  // The actor's state says that it has asked for this factor, but the ranks agree on it only
  // with the next step.
  if (requests_.asked_lr_factor() != kept_.lr_factor) state["lr_factor_wanted"] = requests_.asked_lr_factor();
  if (kept_.stopping) state["early_stopping"] = kept_.stopping->state();
  add_metric(state, kept_.evaluation_metric);
  OwedWork owed{.evaluation = kept_.owes_evaluation};
  // No step follows, so what is asked by now was asked after this step or before.
  if (end_.signal != 0 && saves_.in_flight(end_.step)) {
    owed.texts = requests_.unserved();
    owed.texts_due = requests_.num_due();
  }
  if (auto json = to_json(owed, options_.users.actor_names); !json.empty()) state["owed"] = std::move(json);
}

std::optional<double> Trainer::metric_after(std::uint64_t step) const {
  return compared_ && compared_->first == step ? std::optional(compared_->second) : std::nullopt;
}

void Trainer::add_metric(nlohmann::json& state, std::optional<double> value) const {
  if (!value) return;
  state["evaluation_metric"] = {{"name", training_.evaluation->metric},
                                {"value", *value},
                                {"higher_is_better", training_.evaluation->higher_is_better}};
}

}  // namespace d9d
