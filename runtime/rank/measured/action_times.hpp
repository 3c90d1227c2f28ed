#pragma once
// What the actions of a rank take on its device, for what decides by it: the search of `auto`, and the dynamic order.

#include "runtime/device/work_log.hpp"
#include "runtime/pipeline/order/rank_order.hpp"
#include "runtime/pipeline/order/step_programs.hpp"

namespace d9d {

class ActionTimes {
 public:
  // `programs` outlives this object. `detailed` is of the log.
  ActionTimes(bool detailed, StepPrograms& programs);

  WorkLog& log() { return log_; }
  // The host has waited for what the step computed: its actions and transfers are told to `programs`, what an action
  // took in the mean to `order`.
  void end_step(RankOrder& order);

 private:
  void add(const LoggedWork& work);

  StepPrograms& programs_;
  WorkLog log_;
  double seconds_ = 0;
  int actions_ = 0;
};

}  // namespace d9d
