#pragma once
// Computes the costs of a program without running it: start and end of every action, makespan, bubble, live
// activations. Each rank runs one instruction at a time in program order. A transfer to another rank does
// not block it; it arrives `transfer` after its producer has ended. Times have the unit of the costs.
// Linear in the number of actions.

#include <optional>
#include <vector>

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// The times of one microbatch on one stage.
struct StageCosts {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;
  std::optional<double> full_backward = std::nullopt;  // none: backward_input + backward_weight

  double backward() const { return full_backward.value_or(backward_input + backward_weight); }
  double of(ActionKind kind) const;  // of a compute action
};

struct CostModel {
  std::vector<StageCosts> stages;  // one per stage
  double transfer = 0;             // between stages of different ranks; 0 within a rank
  double overhead = 0;             // added to every compute action; counts as bubble
  // One for each boundary between stage i and i + 1, the same both ways; empty: `transfer` for all.
  std::vector<double> transfers = {};
  // None: the parts of a composed instruction run one after the other, each as soon as it can. A share in
  // [0, 1]: the parts begin together once all are ready, the longer one hides this share of the shorter one,
  // and the results of all are sent at the end.
  std::optional<double> overlap = std::nullopt;

  // The time of a transfer from one stage to its neighbour.
  double transfer_between(int stage, int other, const Topology& topology) const;
};
// F = I = W = 1 / stages per rank for every stage: a rank's whole forward of one microbatch takes 1.
CostModel unit_costs(const Topology& topology);

struct SimulatedAction {
  Action action;
  double start = 0;
  double end = 0;
  bool joined = false;  // a part of the same instruction as the action before it
};

struct Simulation {
  std::vector<std::vector<SimulatedAction>> ranks;  // compute actions in program order
  double makespan = 0;
  double bubble = 0;  // 1 - busy / (ranks * makespan), in [0, 1)
  // Per rank, the most (stage, microbatch) pairs whose forward began and whose B or I has not ended.
  std::vector<int> peak_activations;
  // Per rank, the most pairs whose I ended and whose W has not.
  std::vector<int> peak_pending_weights;
  // Per rank, the most pairs of both kinds together: what is kept between a forward and its B or W.
  std::vector<int> peak_held;
};

// Simulates a compute or a full program. Skips communication instructions; the costs have their time as
// transfers. On a deadlock it throws a bug error that names the action for which each rank waits.
Simulation simulate(const Program& program, const Topology& topology, const CostModel& costs);

}  // namespace d9d
