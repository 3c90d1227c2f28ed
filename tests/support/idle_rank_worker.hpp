#pragma once
// A RankWorker without tensors, whose actions do nothing: the fakes of tests and benches derive from it and
// override what they are about.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rank/rank_worker.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d::test {

// Of one rank with three stages and two microbatches: "1F0 1F1".
inline std::shared_ptr<const PipelineProgram> program_of(const std::string& text) {
  const Program program{rank_program(text)};
  return std::make_shared<const PipelineProgram>(
      PipelineProgram{Topology(TopologyKind::loop, 1, 3), 2, program, program, true});
}

// All passes of it are the same one.
class IdleRankWorker : public RankWorker, public RankPass, public RankUpdate, public RankState {
 public:
  // Every pass runs `program` in the order of `cursor`.
  IdleRankWorker(std::unique_ptr<ActionCursor> cursor, std::shared_ptr<const PipelineProgram> program,
                 bool follows = false)
      : program_(std::move(program)),
        order_(
            std::move(cursor), [this](const Action& action) { return ready(action); }, follows) {}

  PreparedRank prepare() override { return {}; }
  RankPass& pass(Kind kind) override {
    kind_ = kind;
    return *this;
  }
  RankUpdate& update() override { return *this; }
  RankState& state() override { return *this; }
  StepPrograms& programs() override { return programs_; }

  void begin(const PassRequest& request) override { order_.begin_step({request.step}, program_); }
  void put(const StageTensor& /*tensor*/) override {}
  RankOrder& order() override { return order_; }
  std::vector<StageTensor> run(const Instruction& /*instruction*/) override { return {}; }
  PassResult finish() override { return {}; }
  std::vector<double> take_metrics() override { return {}; }

  HookedGradients hook_gradients(std::uint64_t, int, double, double) override { return {}; }
  void watch_tensors(double /*gradient_scale*/) override {}
  void apply(double /*gradient_scale*/, double /*lr_multiplier*/, int /*update*/) override {}
  void skip() override {}

  RankSnapshot snapshot() override { return {}; }
  void let_change() override {}
  void restore(const std::string& /*checkpoint*/, const std::vector<std::uint64_t>& /*skipped*/) override {}
  std::uint64_t sleep(const std::string& /*file*/) override { return 0; }
  void wake() override {}

 protected:
  // Whether the inputs of an action are there.
  virtual bool ready(const Action& /*action*/) const { return true; }
  const PipelineProgram& program() const { return *program_; }
  bool trains() const { return kind_ == Kind::train; }

 private:
  const std::shared_ptr<const PipelineProgram> program_;
  RankOrder order_;
  Kind kind_ = Kind::train;  // of the pass that was asked for last
  StepPrograms programs_{GpipeSchedule{}, 1};
};

}  // namespace d9d::test
