#pragma once
// Records which actions one stage of one rank has run in a step, and tells which it may run next
// without changing any number and without more memory than its static program needs. Pure
// integers. Internal to RankLedger.
//
// There are three queues, each in the order of the static program: forwards; input gradients (I and B);
// weight gradients (W and B). Only their heads may run, so every sum of the step keeps its order: a weight's
// gradient grows in W and B, or, if the module cannot split, in I and B. Three caps limit memory, all taken
// from the static program of the stage: the most microbatches between F and B or I (live), between F and B
// or W (held), between I and W (pending).
//
// No rank can deadlock: with the queues in a fixed order each cap is a precedence ("the n-th F waits for the
// (n - cap)-th B"), and the static program obeys all of them. So of all actions that are left, the first one
// in the static order is always allowed.

#include <vector>

#include "runtime/pipeline/action.hpp"

namespace d9d {

class StageLedger {
 public:
  // The actions of `stage` in a rank's static compute program; `extra` is added to the caps.
  StageLedger(int stage, const RankProgram& program, int microbatches, int extra = 0);

  // The most microbatches of the stage between F and B or I, between F and B or W, between I and W.
  struct Caps {
    std::size_t live = 0, held = 0, pending = 0;
  };
  const Caps& caps() const { return caps_; }
  const std::vector<Action>& forwards() const { return forwards_; }
  const std::vector<Action>& inputs() const { return inputs_; }    // I and B
  const std::vector<Action>& weights() const { return weights_; }  // W and B

  // The heads of the queues; null at a queue's end.
  const Action* next_forward() const { return at(forwards_, done_.forwards); }
  const Action* next_input() const { return at(inputs_, done_.inputs); }
  const Action* next_weight() const { return at(weights_, done_.weights); }

  // Whether order and caps allow the action now. Does not look at its inputs from other stages.
  bool allows(const Action& action) const;
  // Counts an allowed action as run.
  void mark_run(const Action& action);
  bool done() const { return done_.forwards == forwards_.size() && done_.weights == weights_.size(); }

 private:
  struct Counts {
    std::size_t forwards = 0, inputs = 0, weights = 0;

    void count(ActionKind kind);
    std::size_t live() const { return forwards - inputs; }
    std::size_t held() const { return forwards - weights; }
    std::size_t pending() const { return inputs - weights; }
  };
  static const Action* at(const std::vector<Action>& queue, std::size_t index) {
    return index < queue.size() ? &queue[index] : nullptr;
  }

  std::vector<Action> forwards_, inputs_, weights_;
  std::vector<bool> forwarded_, input_done_;  // by microbatch
  Caps caps_;
  Counts done_;
};

}  // namespace d9d
