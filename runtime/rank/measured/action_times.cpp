#include "runtime/rank/measured/action_times.hpp"

#include <utility>

namespace d9d {

ActionTimes::ActionTimes(bool detailed, StepPrograms& programs)
    : programs_(programs), log_(detailed, [this](const LoggedWork& work) { add(work); }) {}

void ActionTimes::add(const LoggedWork& work) {
  if (work.origin.evaluation) return;
  if (work.kind == LoggedWork::Kind::transfer) {
    const Action into = parse_action(work.name);
    programs_.add_transfer_time(into.kind != ActionKind::forward, into.stage, work.seconds());
  }
  if (work.kind != LoggedWork::Kind::compute || work.stage < 0) return;
  programs_.add_action_time({{parse_action(work.name)}}, work.seconds());
  seconds_ += work.seconds();
  ++actions_;
}

void ActionTimes::end_step(RankOrder& order) {
  log_.settle();
  const int actions = std::exchange(actions_, 0);
  const double seconds = std::exchange(seconds_, 0);
  if (actions > 0) order.set_mean_action(seconds / actions);
}

}  // namespace d9d
