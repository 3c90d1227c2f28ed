#pragma once
// A Trainer of rank 0 with a scripted job around it: batches, totals and commits come when the test says so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/loop/trainer.hpp"
#include "actors/notes/pass.hpp"
#include "actors/notes/text_messages.hpp"
#include "messages/event.capnp.h"
#include "messages/lists.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/train/step_totals.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d::test {

inline constexpr ActorId trainer_id{Role::trainer, 0};
inline constexpr ActorId executor_id{Role::rank_executor, 0};
inline constexpr ActorId loader_id{Role::loader, 0};
inline constexpr ActorId group_id{Role::collective, 0};
inline constexpr ActorId coordinator_id{Role::coordinator, 0};

inline constexpr ActorId guard_id{Role::user, 0};  // an own actor

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    options.total_steps = 3;
    training.lr_multiplier = [](std::uint64_t step) { return 0.1 * static_cast<double>(step); };
    training.base_lr = 2;
    options.saves.due = [this](std::uint64_t step) { return due.contains(step); };
    options.shown.metrics_due = [](std::uint64_t step) { return step == 2; };
    options.saves.temporary_dir = [](std::uint64_t step) { return "tmp-" + std::to_string(step); };
    options.users.task_state = [] { return R"({"seen":1})"; };
    options.users.finalize_task = [this] { ++finalized; };
    options.world_collective = group_id;
    options.deadlines.first_step = std::chrono::seconds(600);
    options.deadlines.step = std::chrono::seconds(100);
  }

  virtual void play() { world.play<Trainer>(trainer_id, TrainerOptions{options, training}); }
  void start(std::uint64_t first_step = 1) {
    play();
    listeners(wanted);
    world.say<wire::StartTraining>(
        trainer_id, [&](wire::StartTraining::Builder start) { start.setFirstStep(first_step); });
  }
  // Of the EventBus: what somebody wants to hear of.
  void listeners(const std::vector<std::string>& names) {
    world.say<wire::Listeners>(trainer_id,
                               [&](wire::Listeners::Builder message) {
                                 auto list = message.initNames(static_cast<unsigned>(names.size()));
                                 for (unsigned i = 0; i < list.size(); ++i) list.set(i, names[i].c_str());
                               },
                               {Role::event_bus, 0});
  }
  void batch(std::uint64_t step, bool is_last = false) {
    world.say<wire::BatchReady>(
        trainer_id,
        [&](wire::BatchReady::Builder ready) {
          ready.setStep(step);
          auto microbatches = ready.initMicrobatches(2);
          microbatches.set(0, Ticket{static_cast<std::uint32_t>(step * 10), 5}.packed());
          microbatches.set(1, Ticket{static_cast<std::uint32_t>(step * 10 + 1), 5}.packed());
          ready.setTokens(64);
          ready.setFlops(5e9);
          ready.setNextSample(step * 8);
          if (has_stream) ready.setStreamState(fmt::format(R"({{"replica":0,"state":{}}})", step));
          ready.setIsLast(is_last);
        },
        loader_id);
  }
  void computed(std::uint64_t step) {
    world.say<wire::StepComputed>(
        trainer_id,
        [&](wire::StepComputed::Builder message) {
          message.setStep(step);
          message.setLossSum(12);
          message.setWeightSum(4);
          message.setNormShare(16);
        },
        executor_id);
  }
  void reduced(double loss_sum = 24, double weight = 8, double norm_share = 64) {
    world.say<wire::ValuesReduced>(
        trainer_id,
        [&](wire::ValuesReduced::Builder message) {
          fill_totals(message, {.loss_sum = loss_sum,
                                .weight_sum = weight,
                                .norm_share = norm_share,
                                .tokens = 128,
                                .flops = 1e10});
        },
        group_id);
  }
  static void fill_totals(wire::ValuesReduced::Builder message, const StepTotals& totals,
                          const RankWishes& wishes = {}) {
    const std::vector<double> values = with_wishes(wishes, to_values(totals));
    fill_list(message.initValues(static_cast<unsigned>(values.size())), values);
  }
  // Of the usual step, with what ranks and actors wish.
  void reduced_with(const RankWishes& wishes, StepTotals totals = {}) {
    totals.loss_sum = 24;
    totals.weight_sum = 8;
    totals.norm_share = 64;
    totals.tokens = 128;
    world.say<wire::ValuesReduced>(
        trainer_id, [&](wire::ValuesReduced::Builder message) { fill_totals(message, totals, wishes); },
        group_id);
  }
  // What this rank gave to the reduction.
  StepTotals asked_totals() {
    auto values = asked_values();
    take_wishes(values);
    return step_totals_from(values);
  }
  RankWishes asked_wishes() {
    auto values = asked_values();
    return take_wishes(values);
  }
  std::vector<double> asked_values() {
    return to_vector<double>(world.last<wire::ReduceValues>(group_id)->getValues());
  }
  void signalled(int signal) {
    world.say<wire::Signalled>(trainer_id, [&](wire::Signalled::Builder message) {
      message.setSignal(static_cast<std::uint32_t>(signal));
    });
  }
  void applied(std::uint64_t step) {
    world.say<wire::StepApplied>(
        trainer_id, [&](wire::StepApplied::Builder message) { message.setStep(step); }, executor_id);
  }
  void step(std::uint64_t number) {
    batch(number);
    computed(number);
    reduced();
    applied(number);
  }
  void metric_state(std::uint64_t number) {
    world.say<wire::MetricState>(
        trainer_id,
        [&](wire::MetricState::Builder state) {
          state.setStep(number);
          state.setState(R"({"m":[1]})");
        },
        executor_id);
  }
  void committed(std::uint64_t number) {
    world.say<wire::CheckpointCommitted>(
        trainer_id, [&](wire::CheckpointCommitted::Builder message) { message.setStep(number); },
        coordinator_id);
  }
  // The steps whose batches the Loader was asked for.
  using Steps = std::vector<std::uint64_t>;
  Steps asked_for() {
    Steps steps;
    for (const auto& load : world.heard<wire::LoadBatches>(loader_id)) {
      for (std::uint32_t i = 0; i < load->getCredits(); ++i) steps.push_back(load->getStep() + i);
    }
    return steps;
  }
  void ask_for_texts() {
    world.say<wire::GenerateTexts>(
        trainer_id,
        [](wire::GenerateTexts::Builder message) {
          fill_request(message, {.prompts = {{5, 9}}, .options = {}});
        },
        guard_id);
  }
  std::size_t begun() { return world.heard<wire::BeginStep>(executor_id).size(); }
  std::size_t snapshots() { return world.heard<wire::Snapshot>(executor_id).size(); }
  bool finished() { return !world.heard<wire::RankFinished>().empty(); }
  std::vector<std::string> events() {
    std::vector<std::string> names;
    for (const auto& event : world.heard<wire::Publish>()) names.emplace_back(event->getName());
    return names;
  }
  std::string failure() {
    const auto failures = world.heard<wire::Failed>();
    return failures.empty() ? "" : std::string(failures.back()->getText());
  }

  StepLoopOptions options;
  TrainingOptions training;
  std::vector<std::string> wanted{"*"};  // events
  std::set<std::uint64_t> due;           // checkpoints
  bool has_stream = false;
  int finalized = 0;
  ActorWorld world;
};

}  // namespace d9d::test
