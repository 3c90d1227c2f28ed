#include "runtime/pipeline/simulated/draw_svg.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/pipeline/program/build_program.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d {
namespace {

using test::rank_program;

Simulation drawn_program(const ScheduleConfig& config, int ranks, int microbatches) {
  const PipelineProgram program = build_program(config, ranks, microbatches);
  return simulate(program.full, program.topology, unit_costs(program.topology));
}

TEST(DrawSvg, DrawsABoxForEveryAction) {
  const Simulation simulation = drawn_program(OneFOneBSchedule{1, true}, 2, 4);

  const std::string svg = draw_svg(simulation, {.title = "1f1b <zero bubble>"});

  std::size_t boxes = 0;
  for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++boxes;
  EXPECT_EQ(boxes, 24U);
  EXPECT_NE(svg.find("<title>1W3 "), std::string::npos);
  EXPECT_NE(svg.find("1f1b &lt;zero bubble&gt;"), std::string::npos);
}

TEST(DrawSvg, DrawsSeveralSimulationsOnOneScaleAndOverlapsInOneRow) {
  const Topology topology(TopologyKind::loop, 1, 2);
  const Program program = {rank_program("0F0 1F0 0F1|1B0 1F1 1B1 0B0 0B1")};
  CostModel costs = unit_costs(topology);
  costs.overlap = 1;
  const Simulation together = simulate(program, topology, costs);
  costs.overlap.reset();
  const Simulation in_turn = simulate(program, topology, costs);

  const std::string svg = draw_svg(std::vector<SvgPanel>{{"a", &together}, {"b", &in_turn}}, {.unit = " ms"});

  EXPECT_NE(svg.find(">a</text>"), std::string::npos);
  EXPECT_NE(svg.find(">makespan 5.5 ms, bubble 0.0 %"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">makespan 6 ms, bubble 0.0 %"), std::string::npos) << svg;
  EXPECT_NE(svg.find("height=\"12\" fill=\"#7aace6\" stroke"), std::string::npos) << "0F1 shares its row";
}

TEST(DrawSvg, HasATimeAxisAndALegendOfWhatIsThereInOneOrder) {
  const std::string plain =
      draw_svg(drawn_program(OneFOneBSchedule{}, 4, 8), {.unit = " forwards of a rank"});
  const std::string split = draw_svg(drawn_program(ZeroBubbleVSchedule{}, 3, 6), {});

  EXPECT_NE(plain.find(">30</text>"), std::string::npos) << "of 33, in steps of 5";
  EXPECT_NE(plain.find(">time in forwards of a rank</text>"), std::string::npos);
  EXPECT_NE(plain.find(">pp rank 3</text>"), std::string::npos);
  EXPECT_LT(plain.find(">forward F<"), plain.find(">backward B<"));
  for (const char* absent : {"input half I", "weight half W", "darker", "framed"}) {
    EXPECT_EQ(plain.find(absent), std::string::npos) << absent;
  }
  EXPECT_NE(split.find(">darker: the later stages of a rank<"), std::string::npos);
  EXPECT_LT(split.find(">input half I<"), split.find(">weight half W<"));
}

TEST(DrawSvg, FramesThePartsOfComposedActions) {
  const std::string svg = draw_svg(drawn_program(DualPipeVSchedule{}, 4, 10), {});
  const std::string none = draw_svg(drawn_program(ZeroBubbleVSchedule{}, 4, 10), {});

  EXPECT_NE(svg.find("fill=\"none\" stroke=\"currentColor\""), std::string::npos);
  EXPECT_NE(svg.find(">framed: one composed action<"), std::string::npos);
  EXPECT_EQ(none.find("fill=\"none\" stroke=\"currentColor\""), std::string::npos);
}

TEST(DrawSvg, TakesTheColoursAndTheWidthOfAPage) {
  const Simulation simulation = drawn_program(GpipeSchedule{}, 2, 2);

  const std::string file = draw_svg(simulation, {});
  const std::string part = draw_svg(simulation, {.embedded = true});

  EXPECT_NE(file.find("width=\"1312\""), std::string::npos);
  EXPECT_NE(file.find("fill=\"#ffffff\""), std::string::npos);
  EXPECT_EQ(part.find("width=\"1312\""), std::string::npos);
  EXPECT_EQ(part.find("fill=\"#ffffff\""), std::string::npos);
  EXPECT_EQ(part.find("<svg class=\"program\""), 0U);
}

TEST(DrawSvg, NamesRowsAndNotesAsItIsTold) {
  const Simulation simulation = drawn_program(GpipeSchedule{}, 2, 2);

  const std::string svg = draw_svg(std::vector<SvgPanel>{{.title = "t",
                                                          .simulation = &simulation,
                                                          .rows = {"pp 0, rank 4", "pp 1, rank 5"},
                                                          .note = "a < b"}},
                                   {.unit = " ms"});

  EXPECT_NE(svg.find(">pp 1, rank 5</text>"), std::string::npos);
  EXPECT_NE(svg.find(">time in ms; a &lt; b</text>"), std::string::npos);
}

}  // namespace
}  // namespace d9d
