#pragma once
// A RankWorker without tensors, whose actions do nothing: the fakes of tests and benches derive from it and
// override what they are about.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_worker.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d::testing {

// Of one rank with three stages and two microbatches: "1F0 1F1".
inline std::shared_ptr<const PipelineProgram> program_of(const std::string& text) {
  const Program program{rank_program(text)};
  return std::make_shared<const PipelineProgram>(
      PipelineProgram{Topology(TopologyKind::loop, 1, 3), 2, program, program, true});
}

class IdleRankWorker : public RankWorker {
 public:
  // Every step runs `program` in the order of `cursor`.
  IdleRankWorker(std::unique_ptr<ActionCursor> cursor, std::shared_ptr<const PipelineProgram> program,
                 bool follows = false)
      : program_(std::move(program)),
        order_(
            std::move(cursor), [this](const Action& action) { return ready(action); }, follows) {}

  void prepare() override {}
  std::uint64_t entries_loaded() const override { return 0; }
  std::vector<int> bucket_groups() const override { return {}; }
  void begin_step(std::uint64_t step, const std::vector<Ticket>& /*microbatches*/) override {
    order_.begin_step(step, program_);
  }
  void put(const StageTensor& /*tensor*/) override {}
  RankOrder& order() override { return order_; }
  std::vector<StageTensor> run(const Instruction& /*instruction*/) override { return {}; }
  StepTotals finish_step() override { return {}; }
  HookedGradients hook_gradients(std::uint64_t, double, double) override { return {}; }
  void begin_evaluation(std::uint64_t step, const std::vector<Ticket>& /*microbatches*/) override {
    order_.begin_step(step, program_);
  }
  StepTotals finish_evaluation() override { return {}; }
  void begin_texts(std::uint64_t step, const TextRequest& /*request*/) override {
    order_.begin_step(step, program_);
  }
  Texts take_texts() override { return {}; }
  void restore(const std::string& /*checkpoint*/, std::uint64_t /*skipped_steps*/) override {}
  StepPrograms& programs() override { return programs_; }
  void apply(double /*gradient_scale*/, double /*lr_multiplier*/) override {}
  void skip() override {}
  std::uint64_t sleep(const std::string& /*file*/) override { return 0; }
  void wake() override {}
  std::vector<double> take_metrics() override { return {}; }
  std::vector<double> take_evaluation_metrics() override { return {}; }
  std::string metric_state() override { return {}; }
  Ticket snapshot() override { return {}; }

 protected:
  // Whether the inputs of an action are there.
  virtual bool ready(const Action& /*action*/) const { return true; }
  const PipelineProgram& program() const { return *program_; }

 private:
  const std::shared_ptr<const PipelineProgram> program_;
  RankOrder order_;
  StepPrograms programs_{GpipeSchedule{}, 1};
};

}  // namespace d9d::testing
