#include "runtime/report/chart/line_chart.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Curve ramp(std::size_t count, double from, double by) {
  Curve curve{"loss", {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    curve.steps.push_back(static_cast<double>(i) + 1);
    curve.values.push_back(from + by * static_cast<double>(i));
  }
  return curve;
}

TEST(LineChart, HasStepsAndTimeBelowAndItsFiguresAsText) {
  const Curve elapsed = ramp(11, 30, 30);

  const std::string html =
      line_chart({.title = "Loss <x>", .unit = "nats", .lines = {ramp(11, 8, -0.5)}, .elapsed = &elapsed});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("Loss &lt;x&gt;"), HasSubstr(">10</text>"), HasSubstr(">5 min</text>"),
                          HasSubstr("first 8, last 3; lowest 3 at step 11, highest 8 at step 1")));
  EXPECT_THAT(html, HasSubstr("data-points=\"[[[1,8],[2,7.5],"));
}

TEST(LineChart, DrawsTheFirstPointAtTheLeftAndTheHighestAtTheTop) {
  const std::string html = line_chart({.title = "t", .lines = {ramp(3, 0, 10)}, .from_zero = true});

  EXPECT_THAT(html, HasSubstr("d=\"M54.0 166.00L222.0 91.71L390.0 17.43\"")) << html;
}

TEST(LineChart, KeepsTheFirstTickAwayFromTheNameOfTheAxis) {
  const std::string html = line_chart({.title = "t", .lines = {ramp(3, 0, 10)}, .from_zero = true});

  EXPECT_THAT(html, testing::ContainsRegex("x=\"54.0\" y=\"[0-9.]+\" text-anchor=\"start\">1</text>"));
  EXPECT_THAT(html, testing::ContainsRegex("x=\"390.0\" y=\"[0-9.]+\" text-anchor=\"end\">3</text>"));
}

TEST(LineChart, TakesALogarithmicScaleWhereOutliersWouldHideTheRest) {
  Curve spiky = ramp(100, 1, 0.001);
  spiky.values[50] = 5000;

  EXPECT_THAT(line_chart({.title = "t", .lines = {spiky}}), HasSubstr("logarithmic scale"));
  EXPECT_THAT(line_chart({.title = "t", .lines = {spiky}, .never_logarithmic = true}),
              Not(HasSubstr("logarithmic scale")));
  EXPECT_THAT(line_chart({.title = "t", .lines = {ramp(100, 1, 0.001)}}),
              Not(HasSubstr("logarithmic scale")));
}

TEST(LineChart, MarksAndNamesValuesThatAreNoNumbers) {
  Curve broken = ramp(10, 1, 1);
  broken.values[6] = std::nan("");

  const std::string html = line_chart({.title = "t", .lines = {broken}});
  Curve all_broken = broken;
  all_broken.values.assign(10, std::nan(""));
  const std::string nothing = line_chart({.title = "t", .lines = {all_broken}});

  EXPECT_THAT(html, AllOf(HasSubstr("class=\"bad\""), HasSubstr("no finite number at 1 step: 7")));
  EXPECT_EQ(test::markup_problem(nothing), "");
  EXPECT_THAT(nothing, HasSubstr("no finite number at 10 steps: 1, 2, 3, 4, 5, ..."));
}

TEST(LineChart, HasALegendOfSeveralLinesAndOfASmoothedOne) {
  Curve other = ramp(10, 5, 0);
  other.name = "layer_2";

  const std::string two = line_chart({.title = "t", .lines = {ramp(10, 1, 1), other}});
  const std::string smooth = line_chart({.title = "t", .lines = {ramp(40, 1, 1)}, .smooth = true});
  const std::string one = line_chart({.title = "t", .lines = {ramp(10, 1, 1)}, .smooth = true});

  EXPECT_THAT(two, AllOf(HasSubstr("key-1\"></i>layer_2"), HasSubstr("layer_2: 5 throughout")));
  EXPECT_THAT(smooth, AllOf(HasSubstr("mean of neighbours"), HasSubstr("class=\"raw\"")));
  EXPECT_THAT(one, Not(HasSubstr("class=\"legend\"")));
}

TEST(LineChart, SmoothsTheFirstLineAndDotsASparseOne) {
  Curve sparse{"evaluation", {10, 20, 40}, {3, 4, 5}};

  const std::string html = line_chart({.title = "t", .lines = {ramp(40, 1, 1), sparse}, .smooth = true});

  EXPECT_THAT(html,
              AllOf(HasSubstr("class=\"raw\""), HasSubstr("loss, mean of neighbours"),
                    HasSubstr("key-1\"></i>evaluation"), HasSubstr("<circle class=\"line line-1 dot\"")));
  EXPECT_EQ(test::markup_problem(html), "");
}

TEST(LineChart, DrawsTheRangeOfALongCurve) {
  const std::string html = line_chart({.title = "t", .lines = {ramp(5000, 1, 1)}});

  EXPECT_THAT(html, HasSubstr("class=\"band band-0\""));
  EXPECT_LT(html.size(), 40'000U);
}

TEST(LineChart, MarksWhereARunWasStartedAgain) {
  const std::string html = line_chart(
      {.title = "t", .lines = {ramp(10, 1, 1)}, .marks = {{5.5, "started again"}, {99, "outside"}}});

  EXPECT_THAT(html, AllOf(HasSubstr("<title>started again</title>"), Not(HasSubstr("outside"))));
}

TEST(LineChart, CanBeAFileOfItsOwn) {
  const std::string svg = line_chart_svg({.title = "Rate", .unit = "x", .lines = {ramp(5, 1, 1)}});

  EXPECT_EQ(test::markup_problem(svg), "");
  EXPECT_THAT(svg, AllOf(testing::StartsWith("<svg xmlns="), HasSubstr(">Rate, x</text>"),
                         HasSubstr("<style>"), HasSubstr("class=\"line line-0\"")));
}

TEST(LineChart, DrawsASinglePointAsADot) {
  EXPECT_THAT(line_chart({.title = "t", .lines = {ramp(1, 4, 0)}}),
              HasSubstr("<circle class=\"line line-0 dot\""));
}

}  // namespace
}  // namespace d9d::report
