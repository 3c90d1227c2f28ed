#include "tests/bench/sleep_world.hpp"

#include <future>

#include "actors/collective.hpp"
#include "actors/core/system.hpp"
#include "actors/loader.hpp"
#include "actors/loop/trainer.hpp"
#include "actors/rank_executor.hpp"
#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "tests/bench/bench_support.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds patience{300};
constexpr ActorId director_id{Role::node, 0};

struct Member {
  ActorId id;
  Threading threading;
  ActorFactory factory;
};

// Hears the events of rank 0, as the event bus does.
class Listener final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Listener::publish);
    handlers.on(this, &Listener::ask_for_listeners);
  }
  void ask_for_listeners(wire::AskForListeners::Reader message) {
    tell<wire::Listeners>(sender(), [&](wire::Listeners::Builder listeners) {
      if (message.getRank() == 0) listeners.initNames(1).set(0, "*");
    });
  }
  void started() override {
    tell<wire::Ready>(parent(), [](wire::Ready::Builder) {});
  }
  void publish(wire::Publish::Reader /*message*/) {}
};

// Stands for node, tracker and coordinator: spawns the ranks, starts
// them when all are ready, hears how long the steps took.
class Director final : public Actor {
 public:
  struct Options {
    int ranks = 0;
    std::vector<Member> members;
    std::promise<std::string>* ended = nullptr;  // empty text: all went well
    std::vector<double>* step_seconds = nullptr;
  };
  Director(World& world, Options options) : Actor(world), options_(std::move(options)) {}
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Director::ready);
    handlers.on(this, &Director::step_finished);
    handlers.on(this, &Director::rank_finished);
    handlers.on(this, &Director::failed);
  }
  void started() override {
    answer_to({Role::tracker, 0});
    answer_to({Role::coordinator, 0});
    for (Member& member : options_.members) spawn(member.id, member.threading, std::move(member.factory));
  }
  void ready(wire::Ready::Reader /*message*/) {
    if (++ready_ < options_.members.size()) return;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      tell<wire::StartTraining>({Role::trainer, static_cast<std::uint64_t>(rank)},
                                [](wire::StartTraining::Builder start) { start.setFirstStep(1); });
    }
  }
  void step_finished(wire::StepFinished::Reader message) {
    options_.step_seconds->push_back(message.getStepSeconds());
  }
  void rank_finished(wire::RankFinished::Reader /*message*/) {
    if (++finished_ == options_.ranks) end("");
  }
  void failed(wire::Failed::Reader message) { end(message.getText()); }

 private:
  void end(const std::string& failure) {
    if (std::exchange(ended_, true)) return;
    options_.ended->set_value(failure);
  }
  Options options_;
  std::size_t ready_ = 0;
  int finished_ = 0;
  bool ended_ = false;
};

struct Rig {
  const SleepScenario& scenario;
  TensorTable table{4096};
  SleepLog log;
  MeetingPlace meeting{ranks()};
  int ranks() const { return scenario.program->topology.num_ranks(); }
  int microbatches() const { return scenario.program->num_microbatches; }
  std::uint64_t total_steps() const { return scenario.steps; }
};

std::vector<Member> members_of(Rig& rig, int rank) {
  const auto at = [rank](Role role) { return ActorId{role, static_cast<std::uint64_t>(rank)}; };
  const ActorId collective = collective_id(rank, 0);
  const int stages = rig.scenario.program->topology.num_stages();
  RankExecutorOptions stage{.rank = rank, .make_worker = [&rig, rank](BucketObserver&, CommTracing) {
                              return make_sleep_stage({.rank = rank,
                                                       .program = rig.scenario.program,
                                                       .order = rig.scenario.order,
                                                       .extra_activations = rig.scenario.extra_activations,
                                                       .duration = rig.scenario.duration,
                                                       .table = &rig.table,
                                                       .log = &rig.log});
                            }};
  for (int i = 0; i < stages; ++i) stage.rank_of_stage.push_back(rig.scenario.program->topology.rank_of(i));
  TrainerOptions trainer{.loop = {.rank = rank,
                                  .total_steps = rig.total_steps(),
                                  .world_collective = collective,
                                  .saves = {.due = [](std::uint64_t) { return false; },
                                            .temporary_dir = [](std::uint64_t) { return std::string(); }},
                                  .users = {.task_state = [] { return std::string("{}"); }},
                                  .shown = {.metrics_due = [](std::uint64_t) { return false; }}},
                         .training = {.lr_multiplier = [](std::uint64_t) { return 1.0; }}};
  const Loader::MakeFeed feed = [&rig] { return make_empty_feed(rig.microbatches(), rig.table); };
  return {{at(Role::rank_executor), Threading::own_thread, factory_of<RankExecutor>(std::move(stage))},
          {at(Role::trainer), Threading::own_thread, factory_of<Trainer>(std::move(trainer))},
          {at(Role::loader), Threading::own_thread, factory_of<Loader>(feed)},
          {collective, Threading::own_thread,
           factory_of<Collective>(Collective::Options{make_meeting_worker(rig.meeting)})}};
}

}  // namespace

SleepRun run_sleeping(const SleepScenario& scenario) {
  Rig rig{.scenario = scenario};
  SleepRun run;
  const SystemClock clock;
  trace::Recorder recorder;
  World world{.clock = clock, .recorder = scenario.traced ? &recorder : nullptr};
  ActorSystem system(world, {});
  std::promise<std::string> ended;
  Director::Options director{.ranks = rig.ranks(), .ended = &ended, .step_seconds = &run.step_seconds};
  director.members.push_back(
      {{Role::event_bus, 0}, Threading::pool, [](World& w) { return std::make_unique<Listener>(w); }});
  for (int rank = 0; rank < rig.ranks(); ++rank) {
    for (Member& member : members_of(rig, rank)) director.members.push_back(std::move(member));
  }
  std::vector<ActorId> ids{director_id};
  for (const Member& member : director.members) ids.push_back(member.id);
  const double cpu_begin = cpu_seconds();
  system.spawn_root(director_id, Threading::pool,
                    [&](World& w) { return std::make_unique<Director>(w, std::move(director)); });
  auto future = ended.get_future();
  if (future.wait_for(patience) != std::future_status::ready) {
    throw Error(ErrorKind::environment, "the sleeping pipeline did not end");
  }
  const std::string failure = future.get();
  run.cpu_seconds = cpu_seconds() - cpu_begin;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) stop_actor(world, *id);
  system.await_all(patience);
  D9D_CHECK(failure.empty(), "{}", failure);
  run.steps = rig.log.steps();
  return run;
}

}  // namespace d9d
