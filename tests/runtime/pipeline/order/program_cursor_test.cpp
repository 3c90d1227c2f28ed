#include "runtime/pipeline/order/program_cursor.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/base/error.hpp"
#include "tests/runtime/pipeline/program_text.hpp"
#include "tests/support/peer_transfers.hpp"

namespace d9d {
namespace {

std::shared_ptr<const PipelineProgram> program_of(const ScheduleConfig& config, int ranks, int microbatches) {
  return std::make_shared<const PipelineProgram>(build_program(config, ranks, microbatches));
}

TEST(ProgramCursor, WaitsAtItsHeadHoweverMuchIsReadyBehindIt) {
  ProgramCursor cursor(1);
  cursor.start(program_of(GpipeSchedule{}, 2, 3));
  std::set<Action> arrived{parse_action("1F1"), parse_action("1F2")};
  const auto ready = [&](const Action& action) { return arrived.count(action) != 0; };

  EXPECT_FALSE(cursor.advance(ready, 0));
  EXPECT_EQ(to_string(*cursor.head()), "1F0");
  arrived.insert(parse_action("1F0"));
  for (const char* expected : {"1F0", "1F1", "1F2"})
    EXPECT_EQ(to_string(*cursor.advance(ready, 0)), expected);
  EXPECT_FALSE(cursor.advance(ready, 0));
}

TEST(ProgramCursor, StartsAComposedInstructionWhenAllItsPartsAreReady) {
  ProgramCursor cursor(1);
  cursor.start(program_of(DualPipeVSchedule{}, 2, 4));
  const auto all = [](const Action&) { return true; };
  for (int i = 0; i < 6; ++i) cursor.advance(all, 0);

  EXPECT_EQ(to_string(*cursor.head()), "2F2|1B0");
  EXPECT_FALSE(cursor.advance([](const Action& action) { return action.kind == ActionKind::forward; }, 0));
  EXPECT_EQ(cursor.advance(all, 0)->parts.size(), 2U);
}

TEST(ProgramCursor, EndsAndStartsAgain) {
  ProgramCursor cursor(0);
  EXPECT_TRUE(cursor.done());
  const auto program = program_of(InferenceSchedule{}, 1, 1);
  cursor.start(program);

  EXPECT_THROW(cursor.start(program), Error);
  EXPECT_TRUE(cursor.advance([](const Action&) { return true; }, 0));
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(cursor.head(), nullptr);
  EXPECT_NO_THROW(cursor.start(program));
}

TEST(ProgramCursor, ListsTheTransfersOfAPeerInTheOrderOfBothSides) {
  for (const ScheduleConfig& config :
       {ScheduleConfig(OneFOneBSchedule{2}), ScheduleConfig(ZeroBubbleVSchedule{})}) {
    const auto program = program_of(config, 4, 8);
    for (int rank = 0; rank < 4; ++rank) {
      for (const auto& [peer, transfers] : test::transfers_of(*program, rank)) {
        const test::PeerTransfers theirs = test::transfers_of(*program, peer).at(rank);
        ASSERT_EQ(transfers.sends.size(), theirs.receives.size());
        for (std::size_t i = 0; i < transfers.sends.size(); ++i) {
          const Action& sent = transfers.sends[i];
          const bool forward = sent.kind == ActionKind::send_forward;
          EXPECT_EQ(theirs.receives[i].kind,
                    forward ? ActionKind::receive_forward : ActionKind::receive_backward);
          EXPECT_EQ(theirs.receives[i].stage, sent.stage + (forward ? 1 : -1));
          EXPECT_EQ(theirs.receives[i].microbatch, sent.microbatch);
        }
      }
    }
  }
}

}  // namespace
}  // namespace d9d
