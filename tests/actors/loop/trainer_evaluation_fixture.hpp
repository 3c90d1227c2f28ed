#pragma once
// A Trainer that evaluates after step 2, with two batches.

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d::test {

inline constexpr ActorId evaluation_loader_id{Role::evaluation_loader, 0};

class TrainerEvaluationTest : public TrainerTest {
 protected:
  TrainerEvaluationTest() {
    training.evaluation =
        EvaluationOptions{.batches = 2, .due = [](std::uint64_t step) { return step == 2; }, .ahead = 1};
  }
  // Of the evaluation.
  void evaluation_batch(std::uint64_t number) {
    world.say<wire::BatchReady>(
        trainer_id,
        [&](wire::BatchReady::Builder ready) {
          ready.setStep(number);
          ready.initMicrobatches(1).set(0, Ticket{static_cast<std::uint32_t>(100 + number), 5}.packed());
          ready.setTokens(32);
        },
        evaluation_loader_id);
  }
  void evaluated(std::uint32_t number) {
    world.say<wire::StepComputed>(
        trainer_id,
        [&](wire::StepComputed::Builder message) {
          message.setStep(2);
          fill_pass(message.initPass(), {PassKind::EVALUATE, number});
          message.setLossSum(3 * number);
          message.setWeightSum(2);
        },
        executor_id);
  }
  // Of the MetricCollector: the task's metrics over the whole evaluation.
  void values_come(double accuracy = 0.5) {
    world.say<wire::MetricValues>(trainer_id,
                                  [&](wire::MetricValues::Builder message) {
                                    message.setStep(2);
                                    message.setEvaluation(true);
                                    message.initNames(1).set(0, "accuracy");
                                    message.initValues(1).set(0, accuracy);
                                  },
                                  {Role::metric_collector, 0});
  }
  void evaluate() {
    for (const std::uint32_t number : {1, 2}) {
      evaluation_batch(number);
      evaluated(number);
      reduced(10 * number, 5);
    }
    values_come();
  }
  // The sum over all ranks of who says that the job ends.
  void agreed(double ends) {
    world.say<wire::ValuesReduced>(
        trainer_id, [&](wire::ValuesReduced::Builder message) { fill_totals(message, {}, {.ends = ends}); },
        group_id);
  }
  double ends_told() { return asked_wishes().ends; }
  std::string context_of_evaluation() {
    for (const auto& event : world.heard<wire::Publish>()) {
      if (std::string(event->getName()) == "train.evaluation.post") return event->getContext();
    }
    return {};
  }
};

}  // namespace d9d::test
