#include "runtime/report/chart/axis.hpp"

#include <gmock/gmock.h>

namespace d9d::report {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels_of(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

TEST(ReportAxis, LabelsNumbersOfOneAxisAlike) {
  EXPECT_THAT(labels_of(linear_axis(0, 21, 5)), ElementsAre("0", "5", "10", "15", "20"));
  EXPECT_THAT(labels_of(linear_axis(2.9, 4.1, 5)), ElementsAre("3.0", "3.5", "4.0"));
  EXPECT_THAT(labels_of(linear_axis(0, 34'000, 5)), ElementsAre("0", "10k", "20k", "30k"));
  EXPECT_THAT(labels_of(linear_axis(0, 3.1e-4, 5)), ElementsAre("0", "1e-4", "2e-4", "3e-4"));
}

TEST(ReportAxis, PlacesValuesBetweenItsEnds) {
  EXPECT_DOUBLE_EQ(linear_axis(10, 30, 4).place(15), 0.25);
  EXPECT_NEAR(logarithmic_axis(1, 10'000, 5).place(100), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(linear_axis(7, 7, 4).place(7), 0.5);
}

TEST(ReportAxis, HasPowersOfTenOnALogarithmicScale) {
  EXPECT_THAT(labels_of(logarithmic_axis(0.5, 2'000, 6)), ElementsAre("1", "10", "100", "1000"));
  EXPECT_GE(logarithmic_axis(2, 9, 6).ticks.size(), 2U) << "less than a power of ten";
}

TEST(ReportAxis, WritesNumbersWithFourDigits) {
  EXPECT_EQ(short_number(2'867'200), "2.867M");
  EXPECT_EQ(short_number(3.1428571), "3.143");
  EXPECT_EQ(short_number(0.00012345), "0.000123");
  EXPECT_EQ(short_number(17), "17");
  EXPECT_EQ(short_number(0), "0");
}

}  // namespace
}  // namespace d9d::report
