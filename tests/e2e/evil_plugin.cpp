// A plugin that does what users' code does on a bad day. The key `mode` says what, and with it where.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <boost/describe/class.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <future>
#include <limits>
#include <new>
#include <stdexcept>

#include "actors/job/actor_registry.hpp"
#include "messages/event.capnp.h"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/registry.hpp"

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
    tell<wire::Subscribe>({d9d::Role::event_bus, 0},
                          [](wire::Subscribe::Builder message) { message.setName("train.finished"); });
  }
  void event(wire::Event::Reader /*message*/) {
    if (mode_ == "block") std::promise<void>().get_future().wait();
  }

 private:
  const std::string mode_;
};

}  // namespace
}  // namespace evil

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("evil", [](const d9d::config::Section& section) {
    return std::make_shared<evil::EvilTask>(d9d::config::decode<evil::EvilConfig>(section));
  });
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  registry.add("evil_actor", [](d9d::World& world, const d9d::config::Section& section) {
    return std::make_unique<evil::EvilActor>(world, d9d::config::decode<evil::EvilConfig>(section));
  });
}
