// An actor: hears of every step, and stops the job when the loss jumps to `limit` times its running mean. The
// last checkpoint stays, so the run can go on from there with another seed or learning rate.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"
#include "mine.hpp"
#include "runtime/base/error.hpp"

namespace mine {
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
    if (mean_ > 0 && loss > config_.limit * mean_) {
      throw d9d::Error(d9d::ErrorKind::environment,
                       fmt::format("the loss jumped to {:.3f} at step {}, {:.1f} times its mean of {:.3f}",
                                   loss, message.getStep(), loss / mean_, mean_));
    }
    mean_ = mean_ > 0 ? 0.9 * mean_ + 0.1 * loss : loss;
  }

 private:
  const GuardConfig config_;
  double mean_ = 0;
};

}  // namespace

std::unique_ptr<d9d::Actor> make_spike_guard(d9d::World& world, const GuardConfig& config) {
  return std::make_unique<SpikeGuard>(world, config);
}

}  // namespace mine
