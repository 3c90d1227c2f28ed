#pragma once
// Which program each step of a rank runs. A fixed schedule: always its own. `auto`: a start program in the
// first step and the measured ones, in turn with full and with split backwards, so that F, B, I and W of
// every stage are timed; then what the search finds for the costs that all ranks have put together. All ranks
// of a job begin at the same step and change programs at the same step. One thread; no torch, no clock.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/program/shared_search.hpp"

namespace d9d {

class StepPrograms {
 public:
  // `replicas`: ranks of the job that run the same stages. `search`: shared with the other ranks of the
  // process, so that they search once; null: a search for this object alone.
  StepPrograms(const ScheduleConfig& config, int ranks, int replicas = 1,
               std::shared_ptr<SharedSearch> search = nullptr);

  // Of the step that begins now.
  std::shared_ptr<const PipelineProgram> get(int microbatches);

  // What the step measures: an instruction that took so long on this rank; the tensors of `stage`'s F (or of
  // its gradient) that came from another rank, so long after they were produced. Clocks of two hosts may
  // differ by a constant: it cancels out, since tensors go both ways.
  void add_action_time(const Instruction& instruction, double seconds);
  void add_transfer_time(bool gradient, int stage, double seconds);

  // At the end of a step. After the last measured one: what this rank has measured, to be summed over all
  // ranks of the job; the same size everywhere. Otherwise empty.
  std::vector<double> finish_step();
  // `sums`: of what finish_step() returned, over all ranks. The next step searches and runs the result; a job
  // that ends here does not.
  void use_summed_costs(const std::vector<double>& sums);
  // What the first search found, once: a line for people.
  std::string take_report() { return std::exchange(report_, {}); }

 private:
  struct Measured {
    std::vector<double> forward, backward, backward_input, backward_weight;
  };
  enum class Phase { fixed, start, measuring, measured, searched };

  std::shared_ptr<const PipelineProgram> start_program(int microbatches, bool split);
  CostModel costs_from(const std::vector<double>& sums) const;

  const ScheduleConfig config_;
  const Topology topology_;
  const int replicas_;
  const std::shared_ptr<SharedSearch> search_;
  ProgramCache fixed_;
  Phase phase_;
  int steps_measured_ = 0;
  std::vector<Measured> measured_;                            // by stage
  std::vector<std::optional<double>> activation_, gradient_;  // by receiving stage; the fastest arrival
  std::optional<CostModel> costs_;
  std::string report_;
  std::map<int, std::shared_ptr<const PipelineProgram>> full_, split_, searched_;  // by microbatches
};

// Every B becomes I W, and every I takes its W back. No program ever deadlocks by it or holds more.
Program split_backwards(const Program& compute);
Program join_backwards(const Program& compute);

}  // namespace d9d
