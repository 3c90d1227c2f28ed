// A plugin for phases_test and updates_test: a task whose step has several phases or the same mathematics in one, a
// task whose step has several updates, and a hook.
#include <ATen/ops/exp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sum.h>
#include <fmt/format.h>

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"

namespace phases {

struct TaskKeys {
  std::string steps;
};
BOOST_DESCRIBE_STRUCT(TaskKeys, (), (steps))
constexpr auto keys_of(d9d::config::Tag<TaskKeys>) {
  using namespace d9d::config;
  return std::array{Key{"steps", "", "halves, paced, one_by_one or a broken list", required}};
}

struct SkipKeys {
  std::int64_t every = 1;
  std::string holds;
};
BOOST_DESCRIBE_STRUCT(SkipKeys, (), (every, holds))
constexpr auto keys_of(d9d::config::Tag<SkipKeys>) {
  using namespace d9d::config;
  return std::array{Key{"every", "steps", "", required},
                    Key{"holds", "", "says so only where this is", required}};
}

namespace {

using d9d::StepPhase;
using d9d::TensorMap;

constexpr double copy_factor = 0.25;

// Two losses: the next token for the first half of a step's samples, the token itself (times a factor) for the other
// half. `paced` adds a forward phase: easy samples, by the loss before the update, count less.
//   halves      phases over two batches
//   one_by_one  the same in one phase: of 8 samples in microbatches of 2 on one rank, two microbatches each
class PhasedTask final : public d9d::TrainTask {
 public:
  explicit PhasedTask(TaskKeys keys) : steps_(std::move(keys.steps)) {}

  std::vector<StepPhase> phases() const override {
    using enum d9d::PhaseKind;
    if (steps_ == "halves") return {{"next", train, 0}, {"copy", train, 1}};
    if (steps_ == "paced") return {{"look", forward, 0}, {"next", train, 0}, {"copy", train, 1}};
    if (steps_ == "late_forward") return {{"next", train, 0}, {"look", forward, 0}};
    if (steps_ == "thirds") return {{"a", train, 0}, {"b", train, 1}, {"c", train, 2}};
    return {};
  }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    if (!copies(context.phase, context.microbatch)) return inner_.build_forward_inputs(context);
    TensorMap batch = context.batch;
    batch["labels"] = batch.at("input_ids");
    return inner_.build_forward_inputs({context.step, context.microbatch, batch, context.phase});
  }
  void carry(const d9d::LossContext& context, TensorMap& carried) const override {
    carried["cross_entropy"] = context.outputs.at("cross_entropy");
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    const bool copy = copies(context.phase, context.microbatch);
    d9d::Loss loss = paced() && !copy ? paced_loss(context) : inner_.compute_loss(context);
    if (copy) loss.loss = at::mul(loss.loss, copy_factor);
    return loss;
  }

 private:
  bool paced() const { return steps_ == "paced" || steps_ == "paced_one_by_one"; }
  bool copies(int phase, int microbatch) const {
    if (steps_ == "halves" || steps_ == "thirds") return phase == 1;
    if (steps_ == "paced") return phase == 2;
    return microbatch >= 2;
  }
  // Sum of (1 - exp(-loss before)) * loss over the tokens, per token.
  d9d::Loss paced_loss(const d9d::LossContext& context) const {
    const at::Tensor& now = context.outputs.at("cross_entropy");
    const at::Tensor before =
        steps_ == "paced" ? context.carried[static_cast<std::size_t>(context.microbatch)].at("cross_entropy")
                          : now.detach();
    if (before.requires_grad()) throw std::runtime_error("what was carried has a graph");
    const auto tokens = static_cast<double>(context.state.at("num_tokens").item<std::int64_t>());
    return {at::sum(at::mul(at::exp(at::neg(before)).neg_().add_(1), now)).div(tokens), tokens};
  }

  const d9d::CausalLmTask inner_;
  const std::string steps_;
};

// A step of two updates:
//   twice  each with half of the step's samples
//   parts  the attention moves, then all else; over the same samples
//   loop   over the same samples, where easy tokens, by the loss before both updates, count less
class TwoUpdatesTask final : public d9d::TrainTask {
 public:
  explicit TwoUpdatesTask(TaskKeys keys) : steps_(std::move(keys.steps)) {}

  std::vector<StepPhase> phases() const override {
    using enum d9d::PhaseKind;
    std::vector<StepPhase> phases{{"first", train, 0, 0}, {"second", train, steps_ == "twice" ? 1 : 0, 1}};
    if (steps_ == "loop") phases.insert(phases.begin(), {"look", forward, 0, 0});
    if (steps_ == "mixed") std::swap(phases[0].update, phases[1].update);
    return phases;
  }
  std::vector<d9d::StepUpdate> updates() const override {
    if (steps_ == "typo") return {{{"*self_atn*"}}, {}};
    if (steps_ == "forgetful") return {{{"*self_attn*"}}, {{"*mlp*"}}};
    if (steps_ != "parts") return {{}, {}};
    return {{{"*self_attn*"}}, {{"*.mlp.*", "*layernorm*", "model.norm.*", "*embed*", "*lm_head*"}}};
  }
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return inner_.build_forward_inputs(context);
  }
  void carry(const d9d::LossContext& context, TensorMap& carried) const override {
    carried["cross_entropy"] = context.outputs.at("cross_entropy");
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    d9d::Loss loss = inner_.compute_loss(context);
    if (steps_ != "loop") return loss;
    const auto& before = context.carried[static_cast<std::size_t>(context.microbatch)].at("cross_entropy");
    const at::Tensor hardness = at::exp(at::neg(before)).neg_().add_(1);
    loss.loss = at::sum(at::mul(hardness, context.outputs.at("cross_entropy"))).div(loss.weight);
    return loss;
  }

 private:
  const d9d::CausalLmTask inner_;
  const std::string steps_;
};

// Says skip on the ranks that hold a certain parameter only.
class Skip final : public d9d::GradientHook {
 public:
  explicit Skip(SkipKeys keys) : keys_(std::move(keys)) {}
  d9d::HookVerdict gradients_reduced(const d9d::GradientContext& context) override {
    if (context.step % static_cast<std::uint64_t>(keys_.every) != 0) return d9d::HookVerdict::update;
    for (const d9d::NamedGradient& each : context.gradients) {
      D9D_REQUIRE(each.layout.local_slice().shape() == each.gradient.sizes().vec(),
                  "{} is no block of its layout", each.name);
      if (each.name.find(keys_.holds) != std::string::npos) return d9d::HookVerdict::skip;
    }
    return d9d::HookVerdict::update;
  }

 private:
  const SkipKeys keys_;
};

}  // namespace
}  // namespace phases

extern "C" void d9d_register(d9d::Registry& registry) {
  using d9d::config::decode;
  using d9d::config::Section;
  registry.add_task("phased", [](const Section& section) {
    return std::make_shared<phases::PhasedTask>(decode<phases::TaskKeys>(section));
  });
  registry.add_task("two_updates", [](const Section& section) {
    return std::make_shared<phases::TwoUpdatesTask>(decode<phases::TaskKeys>(section));
  });
  registry.add_gradient_hook("skip", [](const Section& section) {
    return std::make_shared<phases::Skip>(decode<phases::SkipKeys>(section));
  });
}
