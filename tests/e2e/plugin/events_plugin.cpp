// A plugin for events_test and sleep_test: a task that writes down what its rank hears, and actors.
#include <fmt/format.h>

#include <boost/describe/class.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <future>
#include <mutex>
#include <stdexcept>

#include "actors/core/actor.hpp"
#include "actors/job/actor_registry.hpp"
#include "messages/cluster.capnp.h"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "runtime/base/config/decode.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/rank_events.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace heard {

struct TaskKeys {
  std::string mode;
};
BOOST_DESCRIBE_STRUCT(TaskKeys, (), (mode))
constexpr auto keys_of(d9d::config::Tag<TaskKeys>) {
  using namespace d9d::config;
  return std::array{Key{"mode", "", "writes, throws, late, ends or fails", required}};
}

struct ListenerKeys {
  std::string event;
  bool every_rank = false;
  std::int64_t from_step = 0;
  std::int64_t pause_ms = 0;
  bool past = false;
};
BOOST_DESCRIBE_STRUCT(ListenerKeys, (), (event, every_rank, from_step, pause_ms, past))
constexpr auto keys_of(d9d::config::Tag<ListenerKeys>) {
  using namespace d9d::config;
  return std::array{Key{"event", "", "which to write down", required}, Key{"every_rank", "", "", optional},
                    Key{"from_step", "", "subscribes when this step is over", optional},
                    Key{"pause_ms", "", "that it takes over each event", optional},
                    Key{"past", "", "asks for how the job began", optional}};
}

struct NapKeys {
  std::int64_t after = 1;
};
BOOST_DESCRIBE_STRUCT(NapKeys, (), (after))
constexpr auto keys_of(d9d::config::Tag<NapKeys>) {
  using namespace d9d::config;
  return std::array{Key{"after", "steps", "", required}};
}

namespace {

namespace events = d9d::events;
namespace wire = d9d::wire;

std::mutex file_mutex;

void write_line(const std::string& file, const std::string& line) {
  const std::lock_guard lock(file_mutex);
  std::FILE* const out = std::fopen(file.c_str(), "a");
  std::fputs((line + "\n").c_str(), out);
  std::fclose(out);
}

class HeardTask final : public d9d::TrainTask {
 public:
  explicit HeardTask(TaskKeys keys) : mode_(std::move(keys.mode)) {}
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    return inner_.compute_loss(context);
  }

  void register_events(d9d::RankEvents& all) override {
    all.on<events::ConfigurationStart>("heard", [this, &all](const events::ConfigurationStart& event) {
      say(all, fmt::format("configuration.start of {} ranks", event.plan->world_size()));
    });
    all.on<events::ConfigurationDataStream>("heard", [this](const events::ConfigurationDataStream& event) {
      if (event.source == nullptr || mode_ == "throws") throw std::runtime_error("no source");
    });
    all.on<events::ConfigurationModelStages>(
        "heard", [this, &all](const events::ConfigurationModelStages& event) {
          say(all, event.parameters->num_elements() > 0 ? "model_stages" : "nothing");
        });
    all.on<events::ConfigurationOptimizer>("heard",
                                           [this, &all](const events::ConfigurationOptimizer& event) {
                                             say(all, event.optimizer != nullptr ? "optimizer" : "nothing");
                                           });
    all.on<events::ConfigurationLrScheduler>(
        "heard", [this, &all](const events::ConfigurationLrScheduler& event) {
          say(all, event.schedule != nullptr ? "lr_scheduler" : "nothing");
        });
    all.on<events::StepPost>("heard", [this, &all](const events::StepPost& event) {
      say(all, fmt::format("step.post {} {}", event.step, event.loss));
    });
    const auto stop = [this, &all](const events::StepPost& event) {
      if (event.step != 3) return;
      if (mode_ == "ends" && all.rank() == 0) all.end_job("heard", "three steps are enough");
      if (mode_ == "fails" && all.rank() == 1) throw std::runtime_error("three steps are too many");
    };
    all.on<events::StepPost>("heard", stop, d9d::OnThrow::ends_job);
    step<events::Ready>(all, "ready");
    step<events::StepPre>(all, "step.pre");
    step<events::ForwardPre>(all, "forward.pre");
    step<events::ForwardPost>(all, "forward.post");
    step<events::OptimizerStepPre>(all, "optimizer.pre");
    step<events::OptimizerStepPost>(all, "optimizer.post");
    step<events::EvaluationPre>(all, "evaluation.pre");
    all.on<events::EvaluationPost>("heard", [this, &all](const events::EvaluationPost& event) {
      say(all, fmt::format("evaluation.post {} {}", event.step, event.loss));
    });
    step<events::SleepPre>(all, "sleep.pre");
    step<events::SleepPost>(all, "sleep.post");
    step<events::WakePre>(all, "wake.pre");
    step<events::WakePost>(all, "wake.post");
    step<events::Finished>(all, "finished");
  }

 private:
  template <class Event>
  void step(d9d::RankEvents& all, const char* name) {
    all.on<Event>("heard", [this, &all, name](const Event& event) {
      say(all, fmt::format("{} {}", name, event.step));
    });
  }
  void say(d9d::RankEvents& all, const std::string& line) {
    if (mode_ == "late") all.on<events::StepPre>("heard", [](const events::StepPre&) {});
    if (mode_ == "throws") throw std::runtime_error("not my day");
    write_line(fmt::format("heard-{}.txt", all.rank()), line);
  }

  const d9d::CausalLmTask inner_;
  const std::string mode_;
};

class Listener final : public d9d::Actor {
 public:
  Listener(d9d::World& world, ListenerKeys keys) : Actor(world), keys_(std::move(keys)) {}
  void behavior(d9d::Handlers& handlers) override { handlers.on(this, &Listener::event); }
  void started() override {
    keys_.from_step > 0 ? subscribe("train.step.post", false) : subscribe(keys_.event, keys_.every_rank);
  }
  void event(wire::Event::Reader message) {
    const bool late = message.getStep() >= static_cast<std::uint64_t>(keys_.from_step);
    if (keys_.from_step > 0 && late && !subscribed_) {
      subscribed_ = true;
      return subscribe(keys_.event, keys_.every_rank);
    }
    if (keys_.from_step > 0 && !subscribed_) return;
    std::promise<void>().get_future().wait_for(std::chrono::milliseconds(keys_.pause_ms));
    tell<wire::RecordValue>({d9d::Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
      value.setStep(message.getStep());
      value.setName("listened");
      value.setNumber(static_cast<double>(message.getStep()));
    });
    write_line("listened.txt", fmt::format("{} {} {} {}", message.getName().cStr(), message.getStep(),
                                           message.getRank(), message.getContext().cStr()));
  }

 private:
  void subscribe(const std::string& event, bool every_rank) {
    tell<wire::Subscribe>({d9d::Role::event_bus, 0}, [&](wire::Subscribe::Builder message) {
      message.setName(event);
      message.setEveryRank(every_rank);
      message.setPast(keys_.past);
    });
  }
  const ListenerKeys keys_;
  bool subscribed_ = false;
};

// Puts the job to sleep and wakes it as soon as it sleeps.
class Nap final : public d9d::Actor {
 public:
  Nap(d9d::World& world, NapKeys keys) : Actor(world), keys_(keys) {}
  void behavior(d9d::Handlers& handlers) override { handlers.on(this, &Nap::event); }
  void started() override {
    for (const char* name : {"train.step.post", "train.sleep.post"}) {
      tell<wire::Subscribe>({d9d::Role::event_bus, 0},
                            [&](wire::Subscribe::Builder message) { message.setName(name); });
    }
  }
  void event(wire::Event::Reader message) {
    const std::string name = message.getName();
    if (name == "train.sleep.post") return signal(SIGCONT);
    if (message.getStep() == static_cast<std::uint64_t>(keys_.after)) signal(SIGTSTP);
  }

 private:
  void signal(int number) {
    tell<wire::Signalled>({d9d::Role::trainer, 0}, [&](wire::Signalled::Builder message) {
      message.setSignal(static_cast<std::uint32_t>(number));
    });
  }
  const NapKeys keys_;
};

}  // namespace
}  // namespace heard

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("heard", [](const d9d::config::Section& section) {
    return std::make_shared<heard::HeardTask>(d9d::config::decode<heard::TaskKeys>(section));
  });
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  using d9d::config::decode;
  using d9d::config::Section;
  registry.add("listener", [](d9d::World& world, const Section& section) {
    return std::make_unique<heard::Listener>(world, decode<heard::ListenerKeys>(section));
  });
  registry.add("nap", [](d9d::World& world, const Section& section) {
    return std::make_unique<heard::Nap>(world, decode<heard::NapKeys>(section));
  });
}
