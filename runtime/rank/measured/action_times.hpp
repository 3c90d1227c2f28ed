#pragma once
// Measures how long the actions of a rank take on its device, for the search of
// schedule `auto` and the dynamic order.

#include "runtime/device/work_log.hpp"
#include "runtime/pipeline/order/rank_order.hpp"
#include "runtime/pipeline/order/step_programs.hpp"

namespace d9d {

class ActionTimes {
 public:
  // Keeps a reference to `programs`. `detailed`: see WorkLog.
  ActionTimes(bool detailed, StepPrograms& programs);

  WorkLog& log() { return log_; }
  // Reports the times of the step's actions and transfers to `programs`, and the mean time of an action to
  // `order`. Call it after the host has waited for the step's work.
  void end_step(RankOrder& order);

 private:
  void add(const LoggedWork& work);

  StepPrograms& programs_;
  WorkLog log_;
  double seconds_ = 0;
  int actions_ = 0;
};

}  // namespace d9d
