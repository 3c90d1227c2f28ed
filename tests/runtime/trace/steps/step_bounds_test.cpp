#include "runtime/trace/steps/step_bounds.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

TEST(StepBounds, TellWhatARankComputesAfterItsStep) {
  Story story;
  story.on("compute stage 0", 0).span(Category::compute, "0F0", 10, 20, 1).at(0, 0);
  story.on("compute stage 0", 0).span(Category::compute, "optimizer", 33, 40, 1);
  story.on("compute stage 0", 0).span(Category::compute, "0F0", 50, 60, 1).at(0, 0);
  story.on("steps", 0).span(Category::step, "step", 0, 30, 1);
  story.on("compute stage 0", 1).span(Category::compute, "0F0", 70, 80, 1).at(0, 0);
  const Recording recording = story.tell();
  const StepBounds bounds(recording);

  std::vector<std::string> between;
  for (const Span& span : recording.spans) {
    if (bounds.is_between_steps(span)) between.push_back(std::to_string(span.start_ns / 1000));
  }

  EXPECT_EQ(between, std::vector<std::string>{"50"}) << "not the update, nor a rank without the step's end";
}

}  // namespace
}  // namespace d9d::trace
