#include "actors/loop/inferrer.hpp"

#include "messages/lists.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

Inferrer::Inferrer(World& world, StepLoopOptions options)
    : StepLoop(world, std::move(options), {PassKind::INFER, "infer"}, StepRequests({})) {}

void Inferrer::behavior(Handlers& handlers) {
  StepLoop::behavior(handlers);
  handlers.on(this, &Inferrer::roll_back);
  handlers.on(this, &Inferrer::generate_texts);
  handlers.on(this, &Inferrer::scale_learning_rate);
}

std::vector<StepReduction> Inferrer::reductions_of(const StepTotals& mine) const {
  return {{ReduceOp::sum, to_values(mine)}};
}

void Inferrer::values_reduced(wire::ValuesReduced::Reader message) {
  auto values = to_vector<double>(message.getValues());
  const RankWishes summed = take_wishes(values);
  report({.totals = step_totals_from(values), .scale = {}}, 0);
  publish<events::StepPost>();
  obey(summed);
  conclude_step();
}

void Inferrer::roll_back(wire::RollBack::Reader /*message*/) {
  D9D_REQUIRE(false, "{} asks for an earlier state, and an inference job has none", to_string(sender()));
}

void Inferrer::generate_texts(wire::GenerateTexts::Reader /*message*/) {
  D9D_REQUIRE(false, "{} asks for texts of a model that trains; an inference job has the task generation",
              to_string(sender()));
}

void Inferrer::scale_learning_rate(wire::ScaleLearningRate::Reader /*message*/) {
  D9D_REQUIRE(false, "{} asks for another learning rate, and an inference job has none", to_string(sender()));
}

}  // namespace d9d
