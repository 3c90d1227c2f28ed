// An actor: hears of every step, and has the job go back when the loss jumps to `limit` times its running mean: to the
// last checkpoint of before the jump, and on with the data that follow.
#include <boost/describe/class.hpp>

#include <nlohmann/json.hpp>

#include "actors/core/actor.hpp"
#include "actors/job/actor_registry.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/event.capnp.h"
#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/log.hpp"

namespace mine {

struct GuardConfig {
  double limit = 3;
  std::uint64_t quiet = 10;
};
BOOST_DESCRIBE_STRUCT(GuardConfig, (), (limit, quiet))
constexpr auto keys_of(d9d::config::Tag<GuardConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"limit", "times the mean", "a loss above this is a spike", d9d::config::optional, above(1)},
      Key{"quiet", "steps", "in which nothing is a spike"}};
}

namespace {

namespace wire = d9d::wire;

class SpikeGuard final : public d9d::Actor {
 public:
  SpikeGuard(d9d::World& world, const GuardConfig& config) : Actor(world), config_(config) {}

  void behavior(d9d::Handlers& handlers) override { handlers.on(this, &SpikeGuard::event); }

  void started() override {
    tell<wire::Subscribe>({d9d::Role::event_bus, 0},
                          [](wire::Subscribe::Builder message) { message.setName("train.step.post"); });
  }

  void event(wire::Event::Reader message) {
    set_step(message.getStep());
    const nlohmann::json context = nlohmann::json::parse(message.getContext().cStr());
    if (context.contains("skipped")) return;  // it has no loss (trainer.non_finite_gradients)
    const double loss = context.at("loss").get<double>();
    const bool spikes = mean_ > 0 && loss > config_.limit * mean_ && message.getStep() > config_.quiet;
    if (!spikes) {
      mean_ = mean_ > 0 ? 0.9 * mean_ + 0.1 * loss : loss;
      return;
    }
    d9d::log::warn("the loss of step {} is {:.3f}, {:.1f} times its mean", message.getStep(), loss,
                   loss / mean_);
    tell<wire::RollBack>({d9d::Role::trainer, 0},
                         [&](wire::RollBack::Builder ask) { ask.setBefore(message.getStep()); });
  }

 private:
  const GuardConfig config_;
  double mean_ = 0;
};

}  // namespace

void add_spike_guard(d9d::ActorRegistry& registry) {
  registry.add("spike_guard", [](d9d::World& world, const d9d::config::Section& section) {
    return std::make_unique<SpikeGuard>(world, d9d::config::decode<GuardConfig>(section));
  });
}

}  // namespace mine
