#pragma once
// A RankExecutor of rank 0 over a scripted worker: messages come when the test says so, in any order.

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "actors/rank_executor.hpp"
#include "messages/lists.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/idle_rank_worker.hpp"

namespace d9d::test {

inline constexpr ActorId executor_id{Role::rank_executor, 0};
inline constexpr ActorId trainer_id{Role::trainer, 0};
inline constexpr ActorId gradients_id{Role::collective, 2};
inline constexpr ActorId leader_id{Role::rank_executor, 9};

inline Ticket ticket(std::uint32_t slot) {
  return {slot, 1};
}

// What the test sees of a worker.
struct Script {
  std::vector<std::string> program;  // "1F0"
  CursorOrder order = CursorOrder::static_;
  std::map<std::string, std::vector<StageTensor>> outputs;  // of an action
  std::map<std::string, int> completes;                     // an action -> the bucket it completes
  std::vector<double> metrics;
  std::vector<int> bucket_groups;
  std::vector<std::string> ran;
  std::vector<std::string> applied;
  Ticket snapshot;
  int times_a_step_had_ended = 0;
  Texts texts;  // of a pass that does not train
  TextRequest asked_for;
};

// Runs a program as data: an action needs its input.
class ScriptedWorker final : public IdleRankWorker {
 public:
  ScriptedWorker(Script& script, BucketObserver& buckets, bool follows)
      : IdleRankWorker(make_cursor(script.order, 0),
                       program_of(fmt::format("{}", fmt::join(script.program, " "))), follows),
        script_(script),
        buckets_(buckets) {}
  PreparedRank prepare() override {
    script_.ran.push_back("prepare");
    return {5, script_.bucket_groups};
  }
  void let_change() override { script_.ran.emplace_back("state may change"); }
  void begin(const PassRequest& request) override {
    script_.ran.push_back(trains() ? fmt::format("begin {} of {}", request.step, request.microbatches.size())
                                   : fmt::format("evaluate after {}", request.step));
    inputs_.clear();
    script_.asked_for = request.texts;
    IdleRankWorker::begin(request);
  }
  void put(const StageTensor& tensor) override {
    const ActionKind kind = tensor.gradient ? ActionKind::backward : ActionKind::forward;
    inputs_.insert(Action{kind, tensor.stage, tensor.microbatch});
  }
  std::vector<StageTensor> run(const Instruction& instruction) override {
    const std::string name = to_string(instruction);
    script_.ran.push_back(name);
    if (script_.completes.contains(name)) buckets_.bucket_complete(script_.completes[name]);
    return script_.outputs[name];
  }
  PassResult finish() override {
    if (!trains()) return {{.loss_sum = 8, .weight_sum = 2}, script_.texts};
    return {{.loss_sum = 6, .weight_sum = 3, .norm_share = 0.5}};
  }
  void apply(double scale, double lr, int update) override {
    script_.applied.push_back(
        fmt::format("{} {}{}", scale, lr, update == 0 ? "" : fmt::format(" {}", update)));
  }
  HookedGradients hook_gradients(std::uint64_t step, int /*update*/, double loss, double weight) override {
    script_.applied.push_back(fmt::format("hooks of {}: {} {}", step, loss, weight));
    return {.norm_share = 0.25, .skip = true};
  }
  std::uint64_t sleep(const std::string& file) override {
    script_.applied.push_back("sleeps in " + file);
    return 4096;
  }
  void wake() override { script_.applied.emplace_back("awake"); }
  void skip() override { script_.applied.emplace_back("skipped"); }
  std::vector<double> take_metrics() override {
    return trains() ? std::exchange(script_.metrics, {}) : std::vector<double>{7, 8};
  }
  RankSnapshot snapshot() override { return {script_.snapshot, std::to_string(script_.metrics.size())}; }

 private:
  bool ready(const Action& action) const override { return inputs_.contains(action); }
  Script& script_;
  BucketObserver& buckets_;
  std::set<Action> inputs_;
};

inline auto worker_of(Script& script, bool follows) {
  return [&script, follows](BucketObserver& buckets, CommTracing) {
    return std::make_unique<ScriptedWorker>(script, buckets, follows);
  };
}

class StageTest : public ::testing::Test {
 protected:
  void play(std::uint64_t seed = 0) {
    world = std::make_unique<ActorWorld>(seed);
    RankExecutorOptions options{.rank = 0,
                                .make_worker = worker_of(script, follows),
                                .rank_of_stage = {1, 0, 2},
                                .remote_ranks = {2},
                                .collectives = {gradients_id},
                                .checkpoint_writer = {Role::checkpoint_writer, 0},
                                .a_step_has_ended = [this] { ++script.times_a_step_had_ended; },
                                .same_samples = same_samples,
                                .followers = followers};
    if (script_events) options.events = script_events;
    world->play<RankExecutor>(executor_id, options);
  }
  void begin(std::uint64_t step) {
    world->say<wire::BeginStep>(executor_id, [&](wire::BeginStep::Builder begin) {
      begin.setStep(step);
      begin.initMicrobatches(2);
    });
  }
  template <class T>
  void ready(std::uint64_t step, std::uint32_t microbatch, ActorId from = {Role::rank_executor, 1}) {
    world->post<T>(
        executor_id,
        [&](typename T::Builder message) {
          message.setStep(step);
          message.setStage(1);
          message.setMicrobatch(microbatch);
          message.setTicket(ticket(microbatch).packed());
        },
        from);
  }
  void reduced(std::uint64_t step, std::uint32_t bucket, double norm_share) {
    world->say<wire::BucketReduced>(
        executor_id,
        [&](wire::BucketReduced::Builder message) {
          message.setStep(step);
          message.setBucket(bucket);
          message.setNormShare(norm_share);
        },
        gradients_id);
  }
  std::size_t steps_computed() { return world->heard<wire::StepComputed>(trainer_id).size(); }

  // What a leader of this stage announces.
  void announce(std::uint64_t step, std::uint32_t number, const std::string& text) {
    const Instruction instruction = parse_instruction(text);
    world->post<wire::LeadAction>(
        executor_id,
        [&](wire::LeadAction::Builder lead) {
          lead.setStep(step);
          lead.setNumber(number);
          auto parts = lead.initParts(static_cast<unsigned>(instruction.parts.size()));
          for (unsigned i = 0; i < parts.size(); ++i) {
            const Action& action = instruction.parts[i];
            parts[i].setKind(action.kind == ActionKind::forward ? wire::LeadAction::Kind::FORWARD
                                                                : wire::LeadAction::Kind::BACKWARD);
            parts[i].setStage(static_cast<std::uint32_t>(action.stage));
            parts[i].setMicrobatch(static_cast<std::uint32_t>(action.microbatch));
          }
        },
        leader_id);
  }

  Script script{.program = {"1F0", "1F1", "1B0", "1B1"}};
  bool follows = false;
  std::vector<int> followers, same_samples;
  std::shared_ptr<const RankEvents> script_events;
  std::unique_ptr<ActorWorld> world;
};

}  // namespace d9d::test
