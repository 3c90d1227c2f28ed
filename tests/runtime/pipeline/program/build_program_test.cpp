#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/program/check_program.hpp"
#include "runtime/pipeline/program/communication.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"
#include "tests/runtime/pipeline/program_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::rank_program;
using test::text_of;

struct Golden {
  const char* name;
  ScheduleConfig config;
  std::vector<std::string> ranks;
};

// Reference C.7: p = 2, n = 4, compute actions.
const std::vector<Golden>& golden_programs() {
  static const std::vector<Golden> programs = {
      {"gpipe", GpipeSchedule{}, {"0F0 0F1 0F2 0F3 0B3 0B2 0B1 0B0", "1F0 1F1 1F2 1F3 1B3 1B2 1B1 1B0"}},
      {"looped_bfs",
       LoopedBfsSchedule{2},
       {"0F0 0F1 0F2 0F3 2F0 2F1 2F2 2F3 2B3 2B2 2B1 2B0 0B3 0B2 0B1 0B0",
        "1F0 1F1 1F2 1F3 3F0 3F1 3F2 3F3 3B3 3B2 3B1 3B0 1B3 1B2 1B1 1B0"}},
      {"1f1b deep",
       OneFOneBSchedule{1, false, Warmup::deep},
       {"0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"}},
      {"1f1b interleaved",
       OneFOneBSchedule{2, false, Warmup::textbook},
       {"0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
        "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"}},
      {"1f1b zero bubble",
       OneFOneBSchedule{1, true, Warmup::textbook},
       {"0F0 0F1 0I0 0W0 0F2 0I1 0W1 0F3 0I2 0W2 0I3 0W3",
        "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1F3 1I3 1W2 1W3"}},
      {"1f1b zero bubble interleaved",
       OneFOneBSchedule{2, true, Warmup::textbook},
       {"0F0 0F1 2F0 2F1 2I0 2W0 0F2 2I1 2W1 0F3 0I0 0W0 2F2 0I1 0W1 2F3 2I2 2W2 2I3 2W3 0I2 0W2 0I3 0W3",
        "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 3I2 1W1 3F3 3I3 3W2 1I2 3W3 1I3 1W2 1W3"}},
      {"zero_bubble_v",
       ZeroBubbleVSchedule{},
       {"0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3",
        "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3"}},
      {"dual_pipe_v",
       DualPipeVSchedule{},
       {"0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3|3B1) (3F2|0B0) 3B2 (3F3|0B1) 3B3 0I2 0W2 0I3 0W3",
        "1F0 2F0 1F1 2F1 1F2 2B0 (2F2|1B0) (1F3|2B1) (2F3|1B1) 2B2 1B2 2I3 1I3 2W3 1W3"}},
      {"inference", InferenceSchedule{}, {"0F0 0F1 0F2 0F3", "1F0 1F1 1F2 1F3"}},
  };
  return programs;
}

TEST(Program, EqualsTheOriginalsActionForAction) {
  for (const Golden& golden : golden_programs()) {
    const PipelineProgram built = build_program(golden.config, 2, 4);

    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(text_of(built.compute[rank]), text_of(rank_program(golden.ranks[rank])))
          << golden.name << " " << rank;
    }
  }
}

TEST(Program, HasCommunicationWhereTheOriginalHasIt) {
  const PipelineProgram built = build_program(OneFOneBSchedule{1, false, Warmup::deep}, 2, 4);

  EXPECT_EQ(text_of(built.full[0]),
            "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0F2 0SEND_F2 0B0 0RECV_B1 0F3 0SEND_F3 0B1 0RECV_B2 0B2 "
            "0RECV_B3 0B3");
  EXPECT_EQ(text_of(built.full[1]),
            "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1RECV_F2 1F1 1B1 1SEND_B1 1RECV_F3 1F2 1B2 1SEND_B2 1F3 1B3 "
            "1SEND_B3");
}

TEST(Program, TextbookWarmupHoldsHalfOfTheDeepOne) {
  const PipelineProgram built = build_program(OneFOneBSchedule{}, 4, 8);

  EXPECT_EQ(text_of(built.compute[0]), "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0F6 0B3 0F7 0B4 0B5 0B6 0B7");
  EXPECT_EQ(text_of(built.compute[3]), "3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4 3F5 3B5 3F6 3B6 3F7 3B7");
}

std::vector<ScheduleConfig> all_schedules() {
  std::vector<ScheduleConfig> all = {InferenceSchedule{}, GpipeSchedule{}, ZeroBubbleVSchedule{},
                                     DualPipeVSchedule{}};
  for (const int stages : {1, 2, 3}) {
    all.push_back(LoopedBfsSchedule{stages});
    for (const bool zero_bubble : {false, true}) {
      for (const Warmup warmup : {Warmup::textbook, Warmup::deep}) {
        all.push_back(OneFOneBSchedule{stages, zero_bubble, warmup});
      }
    }
  }
  return all;
}

TEST(Program, ExistsAndKeepsEveryRuleForAllNumbersButThoseOfDualPipe) {
  int built = 0, refused = 0;
  for (const ScheduleConfig& config : all_schedules()) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (int microbatches = 1; microbatches <= 32; ++microbatches) {
        if (serves(config, ranks, microbatches)) {
          EXPECT_NO_THROW(
              build_program(config, ranks, microbatches))  // runs check_compute and check_communication
              << name_of(config) << " p=" << ranks << " n=" << microbatches;
          ++built;
        } else {
          EXPECT_THROW(build_program(config, ranks, microbatches), Error);
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(built, 4000);
  EXPECT_EQ(refused, 64);  // dual_pipe_v with fewer than two microbatches a rank
}

// The original refuses these.
TEST(Program, OfOneForwardOneBackwardTakesMicrobatchesThatItsRoundsDoNotDivide) {
  const PipelineProgram one = build_program(OneFOneBSchedule{}, 2, 5);
  EXPECT_EQ(text_of(one.compute[0]), "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0F4 0B3 0B4");
  EXPECT_EQ(text_of(build_program(OneFOneBSchedule{2}, 2, 5).compute[1]),
            "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4 3B3 3B4 1B3 1B4");
  for (const int ranks : {2, 3, 4, 8}) {
    for (int microbatches = ranks; microbatches <= 32; ++microbatches) {
      const PipelineProgram program = build_program(OneFOneBSchedule{}, ranks, microbatches);
      const Simulation result = simulate(program.compute, program.topology, unit_costs(program.topology));
      EXPECT_DOUBLE_EQ(result.makespan, 3.0 * (microbatches + ranks - 1)) << ranks << " " << microbatches;
    }
  }
}

TEST(Program, RefusesWithARemedy) {
  EXPECT_THAT(test::error_of([&] { build_program(DualPipeVSchedule{}, 4, 7); }, ErrorKind::input),
              testing::HasSubstr("8"));
  EXPECT_THROW(build_program(GpipeSchedule{}, 2, 0), Error);
  EXPECT_THROW(Topology(TopologyKind::v, 4, 6), Error);
}

TEST(Program, IsCachedPerNumberOfMicrobatches) {
  ProgramCache cache(GpipeSchedule{}, 2);

  const auto four = cache.get(4);

  EXPECT_EQ(cache.get(4), four);
  EXPECT_EQ(cache.get(8)->compute[0].size(), 16U);
  EXPECT_TRUE(four->has_backward);
}

TEST(CheckProgram, FindsEachBrokenRule) {
  const Topology topology(TopologyKind::loop, 2, 2);
  const std::string good = "1F0 1B0";
  for (const char* broken : {"0F0", "0B0 0F0", "0F0 0B0 0B0", "0F0 0I0", "0F0 0W0 0I0", "0F0 0B0 0W0", "0B0",
                             "1F0 1B0", "0F0 0B0 0I0 0W0"}) {
    EXPECT_THROW(check_compute({rank_program(broken), rank_program(good)}, topology, 1), Error) << broken;
  }
  EXPECT_NO_THROW(check_compute({rank_program("0F0 0I0 0W0"), rank_program(good)}, topology, 1));
}

TEST(CheckProgram, FindsTransfersThatAreMissingMisplacedOrCrossed) {
  const Topology topology(TopologyKind::loop, 2, 2);
  const auto check = [&](const char* first, const char* second, int microbatches) {
    check_communication({rank_program(first), rank_program(second)}, topology, microbatches);
  };

  EXPECT_NO_THROW(check("0F0 0SEND_F0", "1RECV_F0 1F0", 1));
  EXPECT_THROW(check("0F0", "1RECV_F0 1F0", 1), Error);
  EXPECT_THROW(check("0F0 0SEND_F0", "1F0", 1), Error);
  EXPECT_THROW(check("0SEND_F0 0F0", "1RECV_F0 1F0", 1), Error);
  EXPECT_THROW(check("0F0 0SEND_F0", "1F0 1RECV_F0", 1), Error);
  EXPECT_THROW(check("0F0 0SEND_F0 0F1 0SEND_F1", "1RECV_F1 1RECV_F0 1F0 1F1", 2), Error);
}

TEST(Communication, NamesTheHeadsOfADeadlock) {
  const Topology topology(TopologyKind::loop, 2, 4);

  EXPECT_THAT(test::error_of([&] {
                insert_communication({rank_program("2F0 0F0"), rank_program("1F0 3F0")}, topology, 1);
              }),
              testing::HasSubstr("rank 0 waits at 2F0; rank 1 waits at 1F0"));
}

TEST(ScheduleConfig, IsFoundByNameAndNamesTheOthers) {
  for (const std::string_view name : schedule_names()) EXPECT_EQ(name_of(schedule_named(name)), name);
  EXPECT_EQ(stages_per_rank(schedule_named("zero_bubble_v")), 2);
  EXPECT_EQ(test::error_of([] { schedule_named("1f2b"); }),
            "unknown schedule \"1f2b\"; did you mean \"1f1b\"? there are: gpipe looped_bfs 1f1b "
            "zero_bubble_v dual_pipe_v auto inference");
}

TEST(Programs, PutForwardsBeforeThoseThatTrain) {
  const PipelineProgram trained = build_program(OneFOneBSchedule{1, false, Warmup::textbook}, 2, 2);

  const auto both = behind_forwards(trained, 2);

  EXPECT_EQ(both->num_microbatches, 4);
  EXPECT_TRUE(both->has_backward);
  EXPECT_EQ(text_of(both->compute[0]), "0F0 0F1 0F2 0F3 0B2 0B3");
  EXPECT_EQ(text_of(both->compute[1]), "1F0 1F1 1F2 1B2 1F3 1B3");
  EXPECT_NO_THROW(check_communication(both->full, both->topology, 4, /*forwards=*/2));
  EXPECT_THROW(check_compute(both->compute, both->topology, 4), Error)
      << "two backwards are missing otherwise";
}

TEST(InPasses, RepeatsAForwardProgramWithMicrobatchesThatGoOn) {
  const Topology topology(TopologyKind::loop, 2, 2);

  const PipelineProgram program = in_passes(complete_program(build_forward(topology, 2), topology, 2), 3);

  EXPECT_EQ(program.num_microbatches, 6);
  std::string second;
  for (const Instruction& instruction : program.compute[1]) second += to_string(instruction) + " ";
  EXPECT_EQ(second, "1F0 1F1 1F2 1F3 1F4 1F5 ");
}

}  // namespace
}  // namespace d9d
