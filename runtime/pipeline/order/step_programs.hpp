#pragma once
// Chooses the program of each step of a rank. A fixed schedule has one program. Schedule `auto` runs a
// start program in the first step and in the measured ones, alternately with full and with split
// backwards, so that F, B, I and W of every stage are timed. Then it runs the program that the search
// finds for the costs of all ranks. All ranks of a job begin at the same step and change programs at the
// same step. One thread; no torch, no clock.

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

  // Returns the program of the step that begins now.
  std::shared_ptr<const PipelineProgram> get(int microbatches);

  // Report measured times: of an instruction on this rank; of the tensors for `stage`'s F (or its gradient)
  // from another rank, from their production to their arrival. Clocks of two hosts may differ by a constant,
  // which cancels out, since tensors travel both ways.
  void add_action_time(const Instruction& instruction, double seconds);
  void add_transfer_time(bool gradient, int stage, double seconds);

  // Call it at the end of a step. After the last measured step it returns this rank's costs, to be summed
  // over all ranks of the job (the same size on each); otherwise it returns nothing.
  std::vector<double> finish_step();
  // `sums`: of the results of finish_step() over all ranks. The search runs in
  // the next step, if there is one.
  void use_summed_costs(const std::vector<double>& sums);
  // Returns a line for people on the result of the first search, once.
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

// Split every B into I and W, and join every I with its W. Neither makes a program deadlock or hold more.
Program split_backwards(const Program& compute);
Program join_backwards(const Program& compute);

}  // namespace d9d
