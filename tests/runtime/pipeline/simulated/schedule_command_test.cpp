#include "runtime/pipeline/simulated/schedule_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/program_text.hpp"
#include "tests/runtime/pipeline/program_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

ScheduleCommandOptions named(const std::string& schedule, int ranks, int microbatches, bool json = false) {
  ScheduleCommandOptions options;
  options.schedule = schedule_named(schedule);
  options.ranks = ranks;
  options.microbatches = microbatches;
  options.json = json;
  return options;
}

nlohmann::json printed(ScheduleCommandOptions options) {
  options.json = true;
  return nlohmann::json::parse(run_schedule_command(options).text);
}

TEST(ScheduleCommand, PrintsProgramsMakespanBubbleAndPeaksAsJson) {
  const nlohmann::json result = printed(named("gpipe", 2, 2));

  EXPECT_EQ(result["programs"],
            nlohmann::json::parse(R"({"0":["0F0","0F1","0B1","0B0"],"1":["1F0","1F1","1B1","1B0"]})"));
  EXPECT_EQ(result["makespan"], 9.0);
  EXPECT_EQ(result["peak_activations"], (std::vector<int>{2, 2}));
  EXPECT_NE(result["programs_with_communication"].dump().find("0SEND_F0"), std::string::npos);
}

TEST(ScheduleCommand, PrintsTheFullProgramsAsText) {
  const ScheduleCommandResult result = run_schedule_command(named("1f1b", 2, 2));

  EXPECT_NE(result.text.find("rank 1: 1RECV_F0 1F0"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("bubble 33.3 %"), std::string::npos) << result.text;
}

TEST(ScheduleCommand, TakesCostsForAllStagesOrForEach) {
  ScheduleCommandOptions options = named("1f1b", 2, 4);
  options.costs = "2:2:2";
  EXPECT_DOUBLE_EQ(printed(options)["makespan"], 2 * printed(named("1f1b", 2, 4))["makespan"].get<double>());
  options.costs = "1:1:1,3:1:1:1.5";
  EXPECT_DOUBLE_EQ(printed(options)["makespan"], 1 + 4 * 4.5 + 2);
  for (const char* wrong :
       {"1:1", "1:1:1:1:1", "1:x:1", "1:1:-1", "1:1:1,1:1:1,1:1:1", "inf:1:1", "1:1e308:1"}) {
    options.costs = wrong;
    EXPECT_NE(test::error_of([&] { run_schedule_command(options); }, ErrorKind::input), "no error") << wrong;
  }
  options.costs = "1:1:1";
  options.transfer = std::numeric_limits<double>::infinity();
  EXPECT_THAT(test::error_of([&] { run_schedule_command(options); }, ErrorKind::input),
              testing::HasSubstr("--transfer is inf"));
}

TEST(ScheduleCommand, SearchesForAProgramBesideTheBestFixedOne) {
  ScheduleCommandOptions options = named("auto", 3, 6);
  options.costs = "1:1:1,1:1.5:1,2:1:1";

  const nlohmann::json result = printed(options);

  EXPECT_FALSE(result["fixed"].get<std::string>().empty());
  EXPECT_LE(result["makespan"].get<double>(), result["fixed_makespan"].get<double>());
  EXPECT_NE(run_schedule_command(options).text.find("best fixed schedule: 1f1b"), std::string::npos);
}

// Makespans are in forwards of a rank, so they can be compared whatever the stages.
TEST(ScheduleCommand, SearchesForAProgramNoSlowerThanAnyFixedScheduleThatHoldsAsMuch) {
  for (const int microbatches : {4, 8, 16}) {
    ScheduleCommandOptions free = named("auto", 4, microbatches);
    free.chooses_stages = true;
    const nlohmann::json found = printed(free);
    for (const char* schedule : {"1f1b", "zero_bubble_v"}) {
      const nlohmann::json fixed = printed(named(schedule, 4, microbatches));
      EXPECT_LE(found["makespan"].get<double>(), fixed["makespan"].get<double>()) << schedule;
    }
    EXPECT_LE(found["makespan"].get<double>(), found["fixed_makespan"].get<double>());
    EXPECT_EQ(found["stages_per_rank"], 2);
  }
  EXPECT_EQ(printed(named("auto", 4, 8))["stages_per_rank"], 1);
}

TEST(ScheduleCommand, DrawsAndSimulatesAProgramOfOnesOwn) {
  ScheduleCommandOptions options;
  options.program =
      "# by hand\n"
      "rank 0: 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1\n"
      "\n"
      "1F0 1I0 1F1 1W0 1B1\n";

  const nlohmann::json result = printed(options);

  EXPECT_EQ(result["schedule"], "program");
  EXPECT_EQ(result["programs"]["1"], (std::vector<std::string>{"1F0", "1I0", "1F1", "1W0", "1B1"}));
  EXPECT_EQ(result["microbatches"], 2);
  EXPECT_NE(run_schedule_command(options).svg.find("1W0"), std::string::npos);
}

TEST(ScheduleCommand, ReadsItsOwnTextBack) {
  for (const char* schedule : {"gpipe", "zero_bubble_v", "dual_pipe_v"}) {
    const std::string text = run_schedule_command(named(schedule, 2, 4)).text;
    const std::size_t first = text.find("rank 0:");
    const PipelineProgram program = parse_program(text.substr(first, text.find("makespan") - first));

    const PipelineProgram built = build_program(schedule_named(schedule), 2, 4);

    EXPECT_EQ(program.compute, built.compute) << schedule;
    EXPECT_EQ(program.topology.kind(), built.topology.kind()) << schedule;
  }
}

TEST(ScheduleCommand, NamesWhatIsWrongWithAProgram) {
  const auto error_of = [](const char* text) -> std::string {
    return test::error_of([&] { parse_program(text); }, ErrorKind::input);
  };

  EXPECT_NE(error_of("").find("empty"), std::string::npos);
  EXPECT_NE(error_of("0F0 0Q0").find("\"0Q0\""), std::string::npos);
  EXPECT_NE(error_of("0F0 0B0 1F0 1B0\n2F0 2B0\n").find("neither as a loop"), std::string::npos);
  EXPECT_EQ(error_of("0F0 0B0\n1B0 1F0\n"),
            "the program cannot run: stage 1 microbatch 0 runs backward before F");
  EXPECT_NE(error_of("0F0 0B0\n1F0\n").find("stage 1 microbatch 0"), std::string::npos);
}

TEST(ScheduleCommand, RefusesWhatItCannotBuildOrPrint) {
  EXPECT_THROW(run_schedule_command(named("1f1b", 0, 2)), Error);
  EXPECT_THROW(run_schedule_command(named("dual_pipe_v", 2, 3)), Error);
  ScheduleCommandOptions huge = named("1f1b", 100000, 100000);
  huge.schedule = OneFOneBSchedule{.num_stages_per_rank = 100000};
  EXPECT_THROW(run_schedule_command(huge), Error);
}

}  // namespace
}  // namespace d9d
