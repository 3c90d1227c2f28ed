// A plugin for check_test: a task and an actor with a key each, and a task that cannot be made.
#include <boost/describe/class.hpp>

#include <array>
#include <stdexcept>

#include "actors/core/actor.hpp"
#include "actors/job/actor_registry.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/registry.hpp"

namespace {

struct StrictConfig {
  double limit = 1;
};
BOOST_DESCRIBE_STRUCT(StrictConfig, (), (limit))
constexpr auto keys_of(d9d::config::Tag<StrictConfig>) {
  using namespace d9d::config;
  return std::array{Key{"limit", "", "any number", d9d::config::optional, above(0)}};
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
