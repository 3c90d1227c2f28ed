#pragma once
// The events of a job's life (reference LOOP-30 to 32, appendix B) as typed contexts. A task or model subscribes to
// them in register_events() (rank_events.hpp) and hears them on every rank, inside of what happens there; an actor
// subscribes at the event bus (actors/event_bus.hpp) and hears of them afterwards, in a message.
//
// Each has its name in a job that trains and in one that infers; without a name it does not occur there. Pointers
// are valid during the call. Actors get the event's name, step and rank, and a context as JSON. No torch.
//
// Those of the configuration are in configuration_events.hpp. In callbacks "compute" is the thread on which the rank's
// stages compute; nothing else of the rank computes meanwhile.

#include <cstdint>
#include <string_view>

namespace d9d {

namespace events {

// The Trainer's thread: all ranks are ready, `step` is the first.
struct Ready {
  static constexpr std::string_view train = "train.ready", infer = "inference.ready";
  std::uint64_t step = 0;
};

// Compute, before anything of the step. Its post comes after the update or what is in its place, before the checkpoint.
struct StepPre {
  static constexpr std::string_view train = "train.step.pre", infer = "inference.step.pre";
  std::uint64_t step = 0;
};
struct StepPost {
  static constexpr std::string_view train = "train.step.post", infer = "inference.step.post";
  std::uint64_t step = 0;
  double loss = 0;  // of the step over all ranks, as the two below; 0 in a job that infers
  double grad_norm = 0;
  double learning_rate = 0;
  bool skipped = false;  // no update of the step was made
};

// Compute, around all microbatches of the rank and the reduction of their gradients; of each update of a step.
struct ForwardPre {
  static constexpr std::string_view train = "train.forward_backward.pre", infer = "inference.forward.pre";
  std::uint64_t step = 0;
};
struct ForwardPost {
  static constexpr std::string_view train = "train.forward_backward.post", infer = "inference.forward.post";
  std::uint64_t step = 0;
};

// Compute, around the optimizer alone, for each update of a step that is made.
struct OptimizerStepPre {
  static constexpr std::string_view train = "train.optimizer_step.pre", infer = "";
  std::uint64_t step = 0;
};
struct OptimizerStepPost {
  static constexpr std::string_view train = "train.optimizer_step.post", infer = "";
  std::uint64_t step = 0;
};

// Compute, around all batches of an evaluation between two steps, after the step's StepPost and before its checkpoint.
// An evaluation that a signal cuts short has no post.
struct EvaluationPre {
  static constexpr std::string_view train = "train.evaluation.pre", infer = "";
  std::uint64_t step = 0;  // done
};
struct EvaluationPost {
  static constexpr std::string_view train = "train.evaluation.post", infer = "";
  std::uint64_t step = 0;
  double loss = 0;  // of the evaluation over all ranks
};

// Compute, around the loss of memory (SIGTSTP) and its return (SIGCONT), between two steps. From SleepPost
// to WakePre, both included, parameters, gradients and optimizer state have no values, and groups must not be used.
struct SleepPre {
  static constexpr std::string_view train = "train.sleep.pre", infer = "";
  std::uint64_t step = 0;  // done
};
struct SleepPost {
  static constexpr std::string_view train = "train.sleep.post", infer = "";
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;  // that this rank has handed back
};
struct WakePre {
  static constexpr std::string_view train = "train.wake.pre", infer = "";
  std::uint64_t step = 0;
};
struct WakePost {
  static constexpr std::string_view train = "train.wake.post", infer = "";
  std::uint64_t step = 0;
};

// The Trainer's thread, after the task's finalize.
struct Finished {
  static constexpr std::string_view train = "train.finished", infer = "inference.finished";
  std::uint64_t step = 0;
  int signal = 0;  // that stopped the job early; actors hear Stopped instead
};

// Of these only actors hear.
struct Stopped {
  static constexpr std::string_view train = "train.stopped", infer = "inference.stopped";
};
struct RolledBack {
  static constexpr std::string_view train = "train.rolled_back", infer = "";
};

}  // namespace events
}  // namespace d9d
