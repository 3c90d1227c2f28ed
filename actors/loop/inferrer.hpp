#pragma once
// Inferrer: the steps of one rank of a job that infers: forward only, and nothing is applied. Own thread, as every
// StepLoop. One per rank; it has the Trainer's address, so nobody has to know the kind of job. Parent: Node.
// hears Listeners StartTraining BatchReady DataEnded StepComputed ValuesReduced MetricState CheckpointCommitted
//       Signalled Slept Wake Awake RollBack GenerateTexts EndJob ScaleLearningRate EventsFollowed StepShown StateKept
//       Tick
// says Ready AskForListeners LoadBatches BeginStep ReduceValues Sleep Wake Snapshot CheckpointState FlushTrace
//      StepFinished RecordValue KeepState EndJob Publish RankFinished

#include "actors/loop/step_loop.hpp"

namespace d9d {

class Inferrer final : public StepLoop {
 public:
  Inferrer(World& world, StepLoopOptions options);
  void behavior(Handlers& handlers) override;
  void values_reduced(wire::ValuesReduced::Reader message) override;
  // Input errors: the requests of actors that only a job that trains can serve.
  void roll_back(wire::RollBack::Reader message);
  void generate_texts(wire::GenerateTexts::Reader message);
  void scale_learning_rate(wire::ScaleLearningRate::Reader message);

 private:
  std::vector<StepReduction> reductions_of(const StepTotals& mine) const override;
};

}  // namespace d9d
