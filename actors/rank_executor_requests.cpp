// The requests that a rank serves between its steps.
#include <fmt/format.h>

#include "actors/notes/text_messages.hpp"
#include "actors/rank_executor.hpp"
#include "messages/lists.hpp"

namespace d9d {

void RankExecutor::collect_metrics(wire::CollectMetrics::Reader message) {
  const bool evaluation = message.getEvaluation();
  if (evaluation) options_.events->tell(events::EvaluationPost{message.getStep(), message.getLoss()});
  if (!evaluation) worker_->update().watch_tensors(message.getGradientScale());
  const auto kind = evaluation ? RankPass::Kind::evaluate : RankPass::Kind::train;
  const std::vector<double> state = worker_->pass(kind).take_metrics();
  tell<wire::MetricsTaken>({Role::metric_collector, self().index}, [&](wire::MetricsTaken::Builder taken) {
    taken.setStep(message.getStep());
    taken.setEvaluation(evaluation);
    fill_list(taken.initState(static_cast<unsigned>(state.size())), state);
  });
}

void RankExecutor::hook_gradients(wire::HookGradients::Reader message) {
  const Work work(*this, device_->begun({.actor = optimizer_track_,
                                         .name = trace_name("gradient hooks"),
                                         .step = trace::step_of_span(message.getStep()),
                                         .category = trace::Category::compute},
                                        !pass_.trains()));
  const HookedGradients hooked =
      worker_->update().hook_gradients(message.getStep(), update(), message.getLoss(), message.getWeight());
  tell<wire::GradientsHooked>({Role::trainer, self().index}, [&](wire::GradientsHooked::Builder reply) {
    reply.setStep(message.getStep());
    reply.setNormShare(hooked.norm_share);
    reply.setSkip(hooked.skip);
  });
}

void RankExecutor::apply_step(wire::ApplyStep::Reader message) {
  {
    const Work work(*this, device_->begun({.actor = optimizer_track_,
                                           .name = trace_name("optimizer"),
                                           .step = trace::step_of_span(message.getStep()),
                                           .category = trace::Category::compute},
                                          !pass_.trains()));
    if (message.getSkip()) {
      worker_->update().skip();
    } else {
      options_.events->tell(events::OptimizerStepPre{message.getStep()});
      worker_->update().apply(message.getGradientScale(), message.getLrMultiplier(), update());
      options_.events->tell(events::OptimizerStepPost{message.getStep()});
    }
    nothing_moved_ = message.getSkip() && (update() == 0 || nothing_moved_);
    if (update() + 1 == options_.updates)
      options_.events->tell(events::StepPost{message.getStep(), message.getLoss(), message.getGradNorm(),
                                             message.getLearningRate(), nothing_moved_});
  }
  tell<wire::StepApplied>({Role::trainer, self().index},
                          [&](wire::StepApplied::Builder applied) { applied.setStep(message.getStep()); });
  if (message.hasCosts() && message.getCosts().size() > 0) {
    worker_->programs().use_summed_costs(to_vector<double>(message.getCosts()));
  }
}

void RankExecutor::snapshot(wire::Snapshot::Reader message) {
  const RankSnapshot copied = worker_->state().snapshot();
  tell<wire::WriteShard>(options_.checkpoint_writer, [&](wire::WriteShard::Builder write) {
    write.setStep(message.getStep());
    write.setDirectory(message.getDirectory());
    write.setFile(fmt::format("rank-{:05}", options_.rank));
    write.setTicket(copied.shard.packed());
    write.setRank(options_.rank);
  });
  tell<wire::MetricState>({Role::trainer, self().index}, [&](wire::MetricState::Builder state) {
    state.setStep(message.getStep());
    state.setState(copied.metrics);
  });
}

void RankExecutor::sleep(wire::Sleep::Reader message) {
  options_.events->tell(events::SleepPre{message.getStep()});
  const std::uint64_t bytes = worker_->state().sleep(message.getFile());
  options_.communicators->close();
  options_.events->tell(events::SleepPost{message.getStep(), bytes});
  // Comes after this rank's last MetricsTaken, so the collector finishes its reductions first.
  tell<wire::Sleep>({Role::metric_collector, self().index},
                    [&](wire::Sleep::Builder sleep) { sleep.setStep(message.getStep()); });
  tell<wire::Slept>({Role::trainer, self().index}, [&](wire::Slept::Builder slept) {
    slept.setStep(message.getStep());
    slept.setBytes(bytes);
  });
}

void RankExecutor::wake(wire::Wake::Reader message) {
  options_.events->tell(events::WakePre{message.getStep()});
  options_.communicators->reopen();
  links_ = Links::fresh;
  worker_->state().wake();
  options_.events->tell(events::WakePost{message.getStep()});
  tell<wire::Awake>({Role::trainer, self().index},
                    [&](wire::Awake::Builder awake) { awake.setStep(message.getStep()); });
}

void RankExecutor::generate_texts(wire::GenerateTexts::Reader message) {
  D9D_CHECK(!running_, "texts are asked for while step {} is running", step());
  set_step(message.getStep());
  pass_ = {PassKind::TEXTS, static_cast<std::uint32_t>(message.getNumber())};
  asker_ = ActorId::from_packed(message.getAsker());
  begin_pass({.step = step(), .texts = text_request_of(message)});
}

void RankExecutor::write_rollouts(wire::WriteRollouts::Reader message) {
  D9D_CHECK(!running_, "rollouts are asked for while step {} is running", step());
  auto request = joined(rollouts_part_, message);
  if (!request) return;
  set_step(message.getAfter());
  rollouts_for_ = message.getStep();
  pass_ = {PassKind::ROLLOUTS, static_cast<std::uint32_t>(rollouts_for_)};
  begin_pass({.step = step(), .texts = *std::move(request)});
}

void RankExecutor::restore_state(wire::RestoreState::Reader message) {
  D9D_CHECK(!running_, "a checkpoint is restored while step {} is running", step());
  worker_->state().restore(message.getDirectory(), to_vector<std::uint64_t>(message.getSkipped()));
  tell<wire::StateRestored>({Role::trainer, self().index}, [&](wire::StateRestored::Builder restored) {
    restored.setStep(message.getStep());
  });
}

}  // namespace d9d
