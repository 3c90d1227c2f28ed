// The checkpoints of a rank: at most one is being written.
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "actors/loop/step_loop.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {

namespace {

// A number where a step has one update, so that other versions read it.
std::string skipped_text(const std::vector<std::uint64_t>& skipped) {
  return skipped.size() == 1 ? std::to_string(skipped.front()) : json_text(nlohmann::json(skipped));
}

}  // namespace

void StepLoop::take_snapshot_when_due() {
  const DueSave* const save = is_asleep(state_) ? nullptr : saves_.begin();
  if (save == nullptr) return;
  const std::uint64_t step = save->step;
  requests_.taken({step, save->skipped});
  tell<wire::Snapshot>({Role::rank_executor, self().index}, [&](wire::Snapshot::Builder snapshot) {
    snapshot.setStep(step);
    snapshot.setDirectory(options_.saves.temporary_dir(step));
  });
  tell_self_after<wire::Tick>(options_.saves.commit_timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(checkpoint_deadline);
    tick.setValue(step);
  });
}

void StepLoop::metric_state(wire::MetricState::Reader message) {
  D9D_CHECK(saves_.in_flight(message.getStep()), "metric state of step {} came without a snapshot of it",
            message.getStep());
  metric_state_ = message.getState().cStr();
  if (options_.rank != 0 || actors_.keeping.empty()) return tell_checkpoint_state();
  // Sent after the events of this step and before those of the next one.
  actors_.kept.clear();
  actors_.asked = message.getStep();
  tell<wire::KeepState>({Role::event_bus, 0},
                        [&](wire::KeepState::Builder keep) { keep.setStep(message.getStep()); });
}

void StepLoop::state_kept(wire::StateKept::Reader message) {
  if (!saves_.in_flight(message.getStep())) return;
  actors_.kept[ActorId::from_packed(message.getActor())] = message.getState().cStr();
  if (actors_.kept.size() == actors_.keeping.size()) tell_checkpoint_state();
}

void StepLoop::tell_checkpoint_state() {
  const DueSave& save = *saves_.in_flight();
  const std::string task = options_.rank == 0 ? options_.users.task_state() : "{}";
  tell<wire::CheckpointState>({Role::coordinator, 0}, [&](wire::CheckpointState::Builder state) {
    state.setStep(save.step);
    state.setRank(options_.rank);
    state.setNextSample(save.next_sample);
    state.setState(fmt::format(R"({{"metrics":{},"task":{},"tokens_total":{},"skipped_steps":{}{}{}{}}})",
                               metric_state_, task, save.tokens_total, skipped_text(save.skipped),
                               save.stream_state.empty() ? "" : R"(,"stream":)" + save.stream_state,
                               state_after(save.step), options_.rank == 0 ? state_of_rank_0() : ""));
  });
}

// The state that rank 0 keeps for the job, as further members of the JSON object.
std::string StepLoop::state_of_rank_0() const {
  nlohmann::json state = nlohmann::json::object();
  const bool ends_here = end_.asked && saves_.in_flight(end_.step);
  if (!requests_.why_it_ends().empty()) state[ends_here ? "ended" : "end_wanted"] = requests_.why_it_ends();
  add_state_of_rank_0(state);
  for (const auto& [actor, kept] : actors_.kept) {
    if (actor.index >= options_.users.actor_names.size() || kept.empty()) continue;
    state["actors"].push_back(
        {{"name", options_.users.actor_names[actor.index]}, {"state", parse_json<nlohmann::json>(kept)}});
  }
  const std::string text = json_text(state);
  return state.empty() ? "" : "," + text.substr(1, text.size() - 2);
}

void StepLoop::checkpoint_committed(wire::CheckpointCommitted::Reader message) {
  if (!saves_.in_flight(message.getStep())) return;
  saves_.conclude();
  if (std::string_view(message.getFailure().cStr()).empty()) requests_.committed(message.getStep());
  take_snapshot_when_due();
  finish_when_done();
  advance();
}

void StepLoop::require_commit_of(std::uint64_t step) {
  if (!saves_.in_flight(step)) return;
  const auto timeout =
      std::chrono::duration_cast<std::chrono::seconds>(options_.saves.commit_timeout).count();
  if (actors_.asked == step) {
    for (const ActorId actor : actors_.keeping) {
      if (actors_.kept.contains(actor)) continue;
      throw Error(ErrorKind::environment,
                  fmt::format("the checkpoint of step {} has no state of {} after {} s "
                              "(trainer.timeout.checkpoint_timeout). Raise the deadline if the actor is "
                              "really that slow",
                              step, world().activities.doing_of(actor, world().clock.now_ns()), timeout));
    }
  }
  throw Error(
      ErrorKind::environment,
      fmt::format(
          "the checkpoint of step {} was not committed within {} s (trainer.timeout.checkpoint_timeout): {} "
          "is still being written. Raise the deadline if the disk is really that slow",
          step, timeout, options_.saves.temporary_dir(step)));
}

}  // namespace d9d
