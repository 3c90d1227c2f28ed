// The tables of states of Node, Coordinator and the loops over steps, and the one place that obeys them.
#include "actors/notes/lifecycle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "actors/notes/job_phase.hpp"
#include "actors/notes/node_state.hpp"
#include "actors/notes/step_state.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

template <class State>
std::set<State> reached_from(State first, typename Lifecycle<State>::Table table) {
  std::set<State> reached{first};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& row : table) {
      if (std::ranges::any_of(reached, [&](State state) { return row.from.contain(state); }))
        reached.insert(row.to);
    }
  }
  return reached;
}

// Each state can be reached, and the last one is the end and can be reached from each.
template <class State>
void expect_whole(typename Lifecycle<State>::Table table, State last) {
  std::set<std::string> names;
  const int count = static_cast<int>(last) + 1;
  for (int i = 0; i < count; ++i) {
    const auto state = static_cast<State>(i);
    names.insert(name_of(state));
    EXPECT_EQ(reached_from(State{}, table).count(state), 1U) << name_of(state);
    EXPECT_EQ(reached_from(state, table).count(last), 1U) << name_of(state);
  }
  EXPECT_EQ(static_cast<int>(names.size()), count);
  EXPECT_EQ(reached_from(last, table).size(), 1U) << "the end is the end";
}

TEST(Lifecycle, EachTableLeadsFromEveryStateToTheEnd) {
  expect_whole<StepState>(step_transitions, StepState::finished);
  expect_whole<NodeState>(node_transitions, NodeState::ended);
  expect_whole<JobPhase>(job_transitions, JobPhase::left);
}

TEST(Lifecycle, AMoveThatNoRowHasIsABugThatNamesBothStatesAndChangesNothing) {
  Lifecycle<NodeState> state{NodeState::dialling, node_transitions};
  state.become(NodeState::opening);
  EXPECT_THAT(test::error_of([&] { state.become(NodeState::training); }, ErrorKind::bug),
              HasSubstr(R"("training" cannot follow "opening")"));
  EXPECT_EQ(state, NodeState::opening);
}

TEST(Lifecycle, ARowMayStartInSeveralStatesInARow) {
  for (int i = 0; i <= static_cast<int>(JobPhase::left); ++i) {
    const auto phase = static_cast<JobPhase>(i);
    Lifecycle<JobPhase> job{phase, job_transitions};
    const bool can_fail_with_a_trace = phase >= JobPhase::training && phase <= JobPhase::exporting;
    if (can_fail_with_a_trace) {
      EXPECT_NO_THROW(job.become(JobPhase::rescuing)) << name_of(phase);
    } else {
      EXPECT_THROW(job.become(JobPhase::rescuing), Error) << name_of(phase);
    }
  }
}

}  // namespace
}  // namespace d9d
