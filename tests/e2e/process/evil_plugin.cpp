// A plugin that does what users' code does on a bad day. The key `mode` says what, and with it where.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <boost/describe/class.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <limits>
#include <new>
#include <stdexcept>

#include "actors/job/actor_registry.hpp"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/metric/sums_metric.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"

namespace evil {

struct EvilConfig {
  std::string mode;
};
BOOST_DESCRIBE_STRUCT(EvilConfig, (), (mode))
constexpr auto keys_of(d9d::config::Tag<EvilConfig>) {
  using namespace d9d::config;
  return std::array{Key{"mode", "", "what goes wrong", required}};
}

namespace {

namespace wire = d9d::wire;

constexpr std::uint64_t bad_step = 3;

[[noreturn]] void throw_something(const std::string& mode) {
  if (mode.ends_with("_int")) throw 42;
  if (mode.ends_with("_input")) throw d9d::Error(d9d::ErrorKind::input, "the key of mine is wrong");
  throw std::runtime_error("a bad day");
}

// The address of a local is handed on, so that no compiler makes a loop of it.
int recurse(int depth, const int* below) {
  const int here = depth + (below == nullptr ? 0 : *below);
  if (depth == 0) return here;
  return recurse(depth - 1, &here) ^ here;
}

struct EvilMetric final : d9d::SumsMetric {
  explicit EvilMetric(bool throws) : SumsMetric(1), throws_(throws) {}
  d9d::MetricValues compute(std::span<const double> sums) const override {
    if (throws_) throw std::runtime_error("quota");
    return {{"", sums[0]}};
  }

 private:
  const bool throws_;
};

// Throws from one step on, and counts what it was given.
struct EvilTracker final : d9d::TrackerRun {
  void write(const d9d::Point& point, const d9d::TrackerValue&) override {
    if (point.step >= static_cast<std::int64_t>(bad_step)) throw std::runtime_error("quota");
  }
};

// Ids from 0 on, but one that is far too high.
struct EvilSource final : d9d::SampleSource {
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 32; }
  d9d::Sample at(std::uint64_t index) const override {
    const std::vector<std::int64_t> ids(32, index == 5 ? 100'000 : 7);
    return {.input_ids = ids, .labels = ids};
  }
};

class EvilTask final : public d9d::TrainTask {
 public:
  explicit EvilTask(EvilConfig config) : mode_(std::move(config.mode)) {
    if (mode_.starts_with("factory")) throw_something(mode_);
    // The first one of a process is made to find what is wrong before the job forms.
    static std::atomic<int> made = 0;
    if (mode_ == "second_one" && ++made > 1) throw_something("factory");
  }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    if (mode_.starts_with("inputs") && context.step == bad_step) throw_something(mode_);
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    if (context.step == bad_step) misbehave();
    d9d::Loss loss = inner_.compute_loss(context);
    const bool is_bad = mode_ == "nan" ? context.step == bad_step && context.microbatch == 0
                                       : mode_ == "nan_from_there" && context.step >= bad_step;
    if (is_bad) loss.loss = loss.loss * std::numeric_limits<double>::quiet_NaN();
    return loss;
  }
  void finalize() override {
    if (mode_ == "finalize_throws") throw_something(mode_);
    std::fputs("finalized\n", stderr);
  }
  void create_metrics(d9d::Compose& metrics) const override {
    if (mode_.starts_with("metric"))
      metrics.add("quota", std::make_unique<EvilMetric>(mode_ == "metric_computes"));
  }
  void update_metrics(const d9d::LossContext& context, d9d::Compose& metrics) const override {
    if (mode_ == "metric_updates" && context.step == bad_step) throw std::runtime_error("no metric");
    if (mode_.starts_with("metric")) metrics.get<EvilMetric>("quota").add({1});
  }
  nlohmann::json state() const override { return {{"mode", mode_}}; }
  void load_state(const nlohmann::json& /*state*/) override {
    if (mode_.starts_with("load_state")) throw_something(mode_);
  }

 private:
  void misbehave() const {
    if (mode_ == "segfault") *nowhere_ = 1;
    if (mode_ == "overflow") sink_ = recurse(1 << 29, nullptr);
    if (mode_ == "abort") std::terminate();
    if (mode_ == "memory") sink_ = static_cast<int>(at::empty({std::int64_t{1} << 50}).dim());
    if (mode_ == "bad_alloc") throw std::bad_alloc();
    if (mode_ == "loss") throw std::runtime_error("no progress");
    if (mode_ == "long") throw std::runtime_error(std::string(100'000, 'x'));
    if (mode_ == "stuck") {
      std::fputs("stuck\n", stderr);
      std::promise<void>().get_future().wait();
    }
  }

  const d9d::CausalLmTask inner_;
  const std::string mode_;
  volatile int* nowhere_ = nullptr;
  mutable int sink_ = 0;
};

class EvilActor final : public d9d::Actor {
 public:
  EvilActor(d9d::World& world, EvilConfig config) : Actor(world), mode_(std::move(config.mode)) {
    if (mode_.starts_with("factory")) throw_something(mode_);
  }
  void behavior(d9d::Handlers& handlers) override { handlers.on(this, &EvilActor::event); }
  void started() override {
    tell<wire::Subscribe>({d9d::Role::event_bus, 0}, [this](wire::Subscribe::Builder message) {
      message.setName(mode_ == "block" ? "train.finished" : "train.step.post");
    });
  }
  void event(wire::Event::Reader message) {
    set_step(message.getStep());
    if (mode_ == "exit" && message.getStep() == bad_step) std::exit(3);
    if (mode_ == "throws" && message.getStep() == bad_step) throw std::runtime_error("no progress");
    if (mode_ == "shows" && message.getStep() == bad_step) show("step", 777);
    if (mode_ == "shows") show("loss", 99);
    if (mode_ == "block") std::promise<void>().get_future().wait();
  }

 private:
  void show(const char* name, double number) {
    tell<wire::RecordValue>({d9d::Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
      value.setStep(bad_step);
      value.setName(name);
      value.setNumber(number);
    });
  }
  const std::string mode_;
};

}  // namespace
}  // namespace evil

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_tracker("evil_tracker", [](const d9d::config::Section&) -> d9d::OpenTracker {
    return [](const d9d::TrackerContext&) { return std::make_unique<evil::EvilTracker>(); };
  });
  registry.add_source("evil_source", [](const d9d::config::Section&, const d9d::SourceContext&) {
    return std::make_shared<evil::EvilSource>();
  });
  registry.add_task("evil", [](const d9d::config::Section& section) {
    return std::make_shared<evil::EvilTask>(d9d::config::decode<evil::EvilConfig>(section));
  });
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  registry.add("evil_actor", [](d9d::World& world, const d9d::config::Section& section) {
    return std::make_unique<evil::EvilActor>(world, d9d::config::decode<evil::EvilConfig>(section));
  });
}
