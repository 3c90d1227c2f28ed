// A plugin for check_test and own_schedule_test: a task and an actor with a key each, a task that cannot be made, and a
// schedule that cannot run.
#include <boost/describe/class.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "actors/core/actor.hpp"
#include "actors/job/actor_registry.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/plugin/own_training.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"

namespace {

struct StrictConfig {
  double limit = 1;
};
BOOST_DESCRIBE_STRUCT(StrictConfig, (), (limit))
constexpr auto keys_of(d9d::config::Tag<StrictConfig>) {
  using namespace d9d::config;
  return std::array{Key{"limit", "", "any number", d9d::config::optional, above(0)}};
}

// Says what the first microbatch draws from torch's generator.
class Dice final : public d9d::TrainTask {
 public:
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    if (context.step == 1 && context.microbatch == 0) {
      std::fprintf(stderr, "drew %.9g\n", at::rand({1}, at::kDouble).item<double>());
    }
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    return inner_.compute_loss(context);
  }

 private:
  const d9d::CausalLmTask inner_;
};

d9d::Program backwards_first(const d9d::NoKeys&, int ranks, int microbatches) {
  d9d::Program program(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (const auto kind : {d9d::ActionKind::backward, d9d::ActionKind::forward}) {
      for (int i = 0; i < microbatches; ++i)
        program[static_cast<std::size_t>(rank)].push_back({{{kind, rank, i}}});
    }
  }
  return program;
}

class Quiet final : public d9d::Actor {
 public:
  using Actor::Actor;
  void behavior(d9d::Handlers&) override {}
};

}  // namespace

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("strict", [](const d9d::config::Section& section) {
    d9d::config::decode<StrictConfig>(section);
    return std::make_shared<d9d::CausalLmTask>();
  });
  d9d::add_schedule(registry, "backwards_first", backwards_first);
  registry.add_task("dice", [](const d9d::config::Section&) { return std::make_shared<Dice>(); });
  registry.add_task("impossible", [](const d9d::config::Section&) -> std::shared_ptr<d9d::TrainTask> {
    throw std::runtime_error("no table of words at /nowhere");
  });
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  registry.add("quiet", [](d9d::World& world, const d9d::config::Section& section) {
    d9d::config::decode<StrictConfig>(section);
    return std::make_unique<Quiet>(world);
  });
}
