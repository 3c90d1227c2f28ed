// The end of a Trainer's step: what all ranks sum, gradient hooks between sums and norm, the update, the report.
#include <algorithm>
#include <utility>

#include "actors/notes/pass.hpp"
#include "actors/notes/reduce_operation.hpp"
#include "actors/trainer.hpp"
#include "messages/lists.hpp"
#include "messages/trace.capnp.h"
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

void Trainer::step_computed(wire::StepComputed::Reader message) {
  const PassKind kind = message.getPass().getKind();
  if (kind == PassKind::TEXTS) return texts_computed();
  if (kind == PassKind::EVALUATE) return evaluated(message);
  D9D_CHECK(phase_ == Phase::computing && message.getStep() == current_,
            "step {} was computed while step {} is {}", message.getStep(), current_, name_of(phase_));
  phase_ = Phase::following;
  publish(options_.infers ? "inference.forward.post" : "train.forward_backward.post");
  totals_ = StepTotals{.loss_sum = message.getLossSum(),
                       .weight_sum = message.getWeightSum(),
                       .norm_share = message.getNormShare(),
                       .tokens = options_.counts_tokens ? static_cast<double>(computed_.tokens) : 0,
                       .flops = options_.counts_tokens ? computed_.flops : 0,
                       .costs = to_vector<double>(message.getCosts())};
  reduce_when_followed();
}

// True when all deciding actors have followed the events so far, so their requests are here. An actor that
// has finished is not waited for.
bool Trainer::is_followed() {
  if (options_.rank != 0 || options_.actor_names.empty()) return true;
  if (!listened_to_.names || applying_) return false;
  return std::all_of(actors_.deciding.begin(), actors_.deciding.end(), [&](const auto& actor) {
    return actor.second >= actors_.told || !world().book.find_local(actor.first);
  });
}

void Trainer::reduce_when_followed() {
  if (!totals_ || !is_followed()) return;
  phase_ = Phase::reducing;
  const StepTotals mine = std::move(*std::exchange(totals_, std::nullopt));
  RankWishes wishes;
  wishes_.add_to(wishes);
  requests_.add_to(wishes);
  agreed_.reset();
  if (options_.infers) return reduce_with(wishes, {{ReduceOp::sum, to_values(mine)}});
  reduce_with(wishes, step_end_.reductions_of(mine));
}

// The wishes go with the first of the reductions, which is a sum.
void Trainer::reduce_with(const RankWishes& wishes, std::vector<StepReduction> reductions) {
  reductions.front().values = with_wishes(wishes, reductions.front().values);
  for (const StepReduction& reduction : reductions) reduce_over_world(reduction);
}

void Trainer::reduce_over_world(const StepReduction& reduction) {
  tell<wire::ReduceValues>(options_.world_collective, [&](wire::ReduceValues::Builder reduce) {
    reduce.setOrder(reductions_++);
    reduce.setStep(current_);
    reduce.setOperation(reduce_operations.to_wire(reduction.operation));
    fill_list(reduce.initValues(static_cast<unsigned>(reduction.values.size())), reduction.values);
  });
}

void Trainer::values_reduced(wire::ValuesReduced::Reader message) {
  if (phase_ == Phase::evaluating || phase_ == Phase::comparing) return evaluated(message);
  auto values = to_vector<double>(message.getValues());
  if (!agreed_) agreed_ = take_wishes(values);
  if (options_.infers) return inferred(step_totals_from(values));
  const auto result = step_end_.add(values);
  if (!result) {
    if (const StepTotals* sums = step_end_.sums_for_hooks()) hook_gradients(*sums);
    return;
  }
  collect_metrics_when_due(result->totals);
  apply(*result);
  report(*result);
  obey(agreed_wishes(*agreed_));
  requests_.agree(*agreed_);
  if (requests_.ends()) end_here();
  conclude_step();
}

void Trainer::hook_gradients(const StepTotals& sums) {
  phase_ = Phase::hooking;
  tell<wire::HookGradients>({Role::rank_executor, self().index}, [&](wire::HookGradients::Builder hook) {
    hook.setStep(current_);
    hook.setWeight(sums.weight_sum);
    hook.setLoss(sums.loss_sum / sums.weight_sum);
  });
}

void Trainer::gradients_hooked(wire::GradientsHooked::Reader message) {
  D9D_CHECK(phase_ == Phase::hooking && message.getStep() == current_,
            "gradients of step {} are hooked while step {} is {}", message.getStep(), current_,
            name_of(phase_));
  phase_ = Phase::reducing;
  reduce_over_world(step_end_.reduction_of_hooked(message.getNormShare(), message.getSkip()));
}

void Trainer::inferred(const StepTotals& totals) {
  report({.totals = totals, .scale = {}});
  obey(agreed_wishes(*agreed_));
  requests_.agree(*agreed_);
  if (requests_.ends()) end_here();
  after_apply();
}

// Sent before the update, so that metrics are reduced while the optimizer works.
void Trainer::collect_metrics_when_due(const StepTotals& totals) {
  if (!options_.metrics_due(current_)) return;
  tell<wire::CollectMetrics>({Role::rank_executor, self().index}, [&](wire::CollectMetrics::Builder collect) {
    collect.setStep(current_);
    collect.setGradientScale(totals.weight_sum > 0 ? 1 / totals.weight_sum : 0);
  });
}

// A skipped update has no events.
void Trainer::apply(const StepResult& result) {
  D9D_CHECK(!applying_, "step {} is applied while the optimizer works on step {}", current_, *applying_);
  if (!result.skips) publish("train.optimizer_step.pre");
  tell<wire::ApplyStep>({Role::rank_executor, self().index}, [&](wire::ApplyStep::Builder apply) {
    apply.setStep(current_);
    apply.setGradientScale(result.scale.grad);
    apply.setLrMultiplier(lr_multiplier());
    apply.setSkip(result.skips);
    apply.setLoss(result.scale.loss);
    apply.setGradNorm(result.scale.norm);
    apply.setLearningRate(options_.base_lr * lr_multiplier());
    fill_list(apply.initCosts(static_cast<unsigned>(result.totals.costs.size())), result.totals.costs);
  });
  applying_ = current_;
  if (!result.skips) return publish("train.optimizer_step.post");
  if (options_.rank == 0) say_skipped(current_, result, step_end_);
}

void Trainer::step_applied(wire::StepApplied::Reader message) {
  D9D_CHECK(applying_ == message.getStep(), "step {} was applied and nobody waits for it", message.getStep());
  applying_.reset();
  tell_events();
  reduce_when_followed();
  finish_when_done();
}

void Trainer::report(const StepResult& result) {
  const StepScale& scale = result.scale;
  const auto tokens = static_cast<std::uint64_t>(result.totals.tokens);
  const std::int64_t now = world().clock.now_ns();
  record_step(now);
  const double seconds = 1e-9 * static_cast<double>(now - step_begin_ns_);
  step_begin_ns_ = now;
  tokens_total_ += tokens;
  tell_records();
  if (options_.rank == 0) {
    tell<wire::StepFinished>({Role::tracker, 0}, [&](wire::StepFinished::Builder finished) {
      finished.setStep(current_);
      finished.setTotalSteps(options_.total_steps);
      finished.setLoss(scale.loss);
      finished.setGradNorm(scale.norm);
      finished.setLearningRate(options_.infers ? 0 : options_.base_lr * lr_multiplier());
      finished.setTokens(tokens);
      finished.setFlops(result.totals.flops);
      finished.setStepSeconds(seconds);
      finished.setWallTime(1e-9 * static_cast<double>(world().clock.wall_ns()));
      finished.setNextSample(next_sample_);
      finished.setTokensTotal(tokens_total_);
      finished.setMetricsFollow(options_.metrics_due(current_));
      finished.setSkippedSteps(step_end_.skipped());
      finished.setInference(options_.infers);
    });
  }
  write_trace_when_due();
  if (options_.infers) return publish("inference.step.post");
  publish("train.step.post", context_of(result));
}

void Trainer::tell_records() {
  for (const TaskRecord& record : options_.records->take()) {
    tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
      value.setStep(record.step);
      value.setName(record.name);
      if (const auto* number = std::get_if<double>(&record.value)) value.setNumber(*number);
      if (const auto* text = std::get_if<TextRecord>(&record.value)) value.setText(text->text);
      if (const auto* picture = std::get_if<Picture>(&record.value))
        value.setPicture(
            kj::arrayPtr(reinterpret_cast<const kj::byte*>(picture->png.data()), picture->png.size()));
    });
  }
}

void Trainer::record_step(std::int64_t now_ns) {
  if (world().recorder == nullptr) return;
  if (steps_track_ == 0) steps_track_ = world().recorder->actor(trace::steps_track, options_.rank);
  world().recorder->record({.start_ns = step_begin_ns_,
                            .end_ns = now_ns,
                            .actor = steps_track_,
                            .name = trace_name("step"),
                            .step = static_cast<std::int32_t>(current_),
                            .category = trace::Category::step});
}

void Trainer::write_trace_when_due() {
  if (!options_.trace_window || !options_.trace_window->ends_with(current_)) return;
  for (int node = 0; node < options_.num_nodes; ++node) {
    tell<wire::FlushTrace>(
        {Role::trace_collector, static_cast<std::uint64_t>(node)}, [&](wire::FlushTrace::Builder flush) {
          flush.setLabel(fmt::format("step_{}", current_));
          flush.setNodes(static_cast<std::uint32_t>(options_.num_nodes));
          flush.setFromStep(static_cast<std::int32_t>(current_ - options_.trace_window->active + 1));
        });
  }
}

}  // namespace d9d
