#include "runtime/trace/kernel_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/trace/analysis.hpp"
#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

// Rank 0 runs kernels in step 2 from 10 to 50 us, on two streams; step 3 has none on record.
Recording two_streams() {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 60, 2).span(Category::step, "step", 60, 100, 3);
  story.on("device compute", 0).span(Category::compute, "0F0", 10, 40, 2);
  story.on("device kernels compute", 0)
      .span(Category::kernel, "matmul", 10, 20, 2)
      .span(Category::kernel, "matmul", 25, 40, 2)
      .span(Category::kernel, "copy", 70, 75);
  story.on("device kernels communicate", 0).span(Category::kernel, "ncclAllReduce", 35, 50, 2);
  return story.tell();
}

TEST(KernelReport, SumsKernelsByNameAndSaysHowLongAnyRuns) {
  const KernelReport report = report_kernels(two_streams());

  ASSERT_EQ(report.kernels.size(), 3U);
  EXPECT_EQ(report.kernels[0].name, "matmul");
  EXPECT_EQ(report.kernels[0].count, 2);
  EXPECT_EQ(report.kernels[0].total, 25'000);
  EXPECT_EQ(report.kernels[0].max, 15'000);
  EXPECT_EQ(report.kernels[1].name, "ncclAllReduce");
  EXPECT_EQ(report.kernels[2].name, "copy") << "of no step, and counted";
  EXPECT_EQ(report.total(), 45'000);
  EXPECT_EQ(report.observed, 40'000);
  EXPECT_EQ(report.busy, 35'000);
}

TEST(KernelReport, IsPartOfWhatTracePrints) {
  const Analysis analysis = analyze(two_streams());

  const std::string text = to_text(analysis, 2);
  EXPECT_NE(text.find("run one for 87.50 % of the steps on record"), std::string::npos) << text;
  EXPECT_NE(text.find("matmul"), std::string::npos);
  EXPECT_EQ(text.find("copy"), std::string::npos) << "only so many are asked for";
  EXPECT_EQ(nlohmann::json::parse(to_json(analysis))["kernels"]["kernels"][0]["total_ns"], 25'000);
}

TEST(KernelReport, LeavesTheSplitOfTheStepToTheActions) {
  const Analysis analysis = analyze(two_streams());

  EXPECT_EQ(analysis.ranks.at(0).time.compute, 30'000);
  EXPECT_EQ(analysis.ranks.at(0).communication, 0);
  for (const ActorReport& actor : analysis.actors) EXPECT_EQ(actor.actor.find("kernels"), std::string::npos);
}

TEST(KernelReport, IsEmptyWithoutKernels) {
  Story story;
  story.on("steps", 0).span(Category::step, "step", 0, 60, 2);

  EXPECT_TRUE(report_kernels(story.tell()).kernels.empty());
  EXPECT_EQ(to_text(analyze(story.tell())).find("kernels"), std::string::npos);
}

}  // namespace
}  // namespace d9d::trace
