#pragma once
// What a Trainer knows beside what every loop over steps does.

#include "actors/loop/step_loop_options.hpp"
#include "actors/notes/evaluation_run.hpp"
#include "actors/notes/owed_work.hpp"
#include "actors/notes/step_requests.hpp"
#include "runtime/train/step_end.hpp"

namespace d9d {

// What rank 0 keeps beside tensors for the checkpoint in flight, as it was when the state was copied: while states of
// own actors are still to come, the next step may change all of it.
struct KeptWithCheckpoint {
  double lr_factor = 1;
  std::optional<EarlyStopping> stopping;
  std::optional<double> evaluation_loss, evaluation_metric;  // of the evaluation after its step
  bool owes_evaluation = false;
};

struct TrainingOptions {
  std::function<double(std::uint64_t)> lr_multiplier;  // for each step, from 1
  double base_lr = 0;                                  // for reports
  StepEndOptions step_end;                             // clipping, and what to do when numbers are not finite
  std::optional<EvaluationOptions> evaluation;
  RollBackLimits roll_backs;
  std::function<std::string(std::uint64_t)> checkpoint_dir;  // of the step's committed or resumed one
  double lr_factor = 1;  // that an actor had set, from the resumed checkpoint
  // The factor that an actor had asked for; all ranks agree on it in the next step.
  std::optional<double> lr_factor_wanted;
  OwedWork owed;  // of the resumed step
};

struct TrainerOptions {
  StepLoopOptions loop;
  TrainingOptions training;
};

}  // namespace d9d
