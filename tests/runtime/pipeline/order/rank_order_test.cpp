#include "runtime/pipeline/order/rank_order.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/base/error.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d {
namespace {

// Stage 1 of two, alone on its rank: "1F0 1F1 1B1 1B0".
class Ordered : public ::testing::Test {
 protected:
  void make(CursorOrder order, bool follows) {
    this->order = std::make_unique<RankOrder>(
        make_cursor(order, 1), [this](const Action& action) { return inputs.contains(action); }, follows);
  }
  void begin(std::uint64_t step) {
    inputs.clear();
    order->begin_step({step}, program);
  }
  void arrive(const std::string& actions) {
    for (const Instruction& instruction : test::rank_program(actions)) inputs.insert(instruction.parts[0]);
  }
  void lead(std::uint64_t step, std::uint32_t number, const char* action) {
    order->follow({{step}, number, parse_instruction(action)});
  }
  // "step.number action" of everything that can run now.
  std::string run() {
    std::string ran;
    while (const auto next = order->next(0)) {
      ran += fmt::format("{}{}.{} {}", ran.empty() ? "" : ", ", next->pass.step, next->number,
                         to_string(next->instruction));
    }
    return ran;
  }

  std::shared_ptr<const PipelineProgram> program =
      std::make_shared<const PipelineProgram>(build_program(GpipeSchedule{}, 2, 2));
  std::set<Action> inputs;
  std::unique_ptr<RankOrder> order;
};

TEST_F(Ordered, NumbersWhatItRunsFromZeroInEachStep) {
  make(CursorOrder::static_, false);
  begin(1);
  arrive("1F0 1F1 1B0 1B1");
  EXPECT_EQ(run(), "1.0 1F0, 1.1 1F1, 1.2 1B1, 1.3 1B0");
  EXPECT_TRUE(order->step_done());

  begin(2);
  arrive("1F0");

  EXPECT_EQ(run(), "2.0 1F0");
  EXPECT_FALSE(order->step_done());
}

TEST_F(Ordered, AFollowerRunsWhatWasAnnouncedOnceItsInputsAreThere) {
  make(CursorOrder::dynamic, true);
  begin(1);
  arrive("1F0 1F1");
  EXPECT_EQ(run(), "") << "nothing was announced";

  lead(1, 0, "1F0");
  lead(1, 1, "1F1");
  lead(1, 2, "1B1");
  EXPECT_EQ(run(), "1.0 1F0, 1.1 1F1");
  arrive("1B1");

  EXPECT_EQ(run(), "1.2 1B1");
}

TEST_F(Ordered, AFollowerKeepsWhatWasAnnouncedOfTheNextStep) {
  make(CursorOrder::static_, true);
  begin(1);
  arrive("1F0 1F1 1B0 1B1");
  std::uint32_t number = 0;
  for (const char* action : {"1F0", "1F1", "1B1", "1B0"}) lead(1, number++, action);
  lead(2, 0, "1F0");
  run();
  EXPECT_TRUE(order->step_done());
  EXPECT_EQ(run(), "");

  begin(2);
  arrive("1F0");

  EXPECT_EQ(run(), "2.0 1F0");
}

TEST_F(Ordered, GapsRepetitionsAndLeadersOfNobodyAreBugs) {
  make(CursorOrder::static_, true);
  begin(1);
  lead(1, 0, "1F0");

  EXPECT_THROW(lead(1, 0, "1F0"), Error);
  EXPECT_THROW(lead(1, 2, "1F1"), Error);
  EXPECT_THROW(lead(2, 1, "1F0"), Error);
  make(CursorOrder::static_, false);
  EXPECT_THROW(lead(1, 0, "1F0"), Error);
}

TEST_F(Ordered, AsksToBeWokenOnceForEachTime) {
  const Program compute{test::rank_program("0F0 0F1 0I0 0F2 0I1 0I2 0W0 0W1 0W2")};
  program = std::make_shared<const PipelineProgram>(
      PipelineProgram{Topology(TopologyKind::loop, 1, 1), 3, compute, compute, true});
  RankOrder dynamic(make_cursor(CursorOrder::dynamic, 0, 1),
                    [](const Action& action) { return action.kind == ActionKind::forward; });
  dynamic.begin_step({1}, program);
  for (const double now : {0, 1}) EXPECT_TRUE(dynamic.next(now)) << "an action takes a second";

  EXPECT_FALSE(dynamic.next(2)) << "0I0 is not here";
  EXPECT_EQ(dynamic.take_wakeup(), 3) << "then 0F2 goes ahead";
  EXPECT_EQ(dynamic.take_wakeup(), std::nullopt);
  EXPECT_FALSE(dynamic.next(2.5));
  EXPECT_EQ(dynamic.take_wakeup(), std::nullopt);

  EXPECT_EQ(to_string(dynamic.next(3)->instruction), "0F2");
}

}  // namespace
}  // namespace d9d
