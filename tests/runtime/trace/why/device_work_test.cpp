#include "runtime/trace/why/device_work.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {
namespace {

// Rank 1 takes what rank 0 computed for microbatch 2, and stands still in its action.
Recording handed_over() {
  Story story;
  story.on("compute stage 1", 1).span(Category::launch, "1F2", 0, 5, 4).sends(7).at(1, 2);
  story.on("executor/1", 1).message("activation_ready", 2, 3, 4, 6);
  story.on("device compute", 0).span(Category::compute, "0F1", 0, 10, 4).at(0, 1);
  story.on("device compute", 0).span(Category::compute, "0F2", 10, 20, 4).after(6).at(0, 2);
  story.on("device compute", 2).span(Category::compute, "0F2", 10, 25, 4).after(5).at(0, 2);
  story.on("device compute", 0).span(Category::compute, "0F3", 20, 30, 4).at(0, 3);
  story.on("device compute", 1).span(Category::collective, "copy for 1F2", 30, 35, 4).after(7);
  story.on("device compute", 1).span(Category::compute, "1F2", 35, 90, 4).after(7).at(1, 2);
  story.on("device compute", 1).span(Category::stall, "wait for tp", 40, 50, 4);
  story.on("device compute", 1).span(Category::stall, "wait for tp", 60, 70, 4);
  story.on("device communicate", 1).span(Category::collective, "all_reduce tp", 55, 70, 4).after(7);
  story.on("device kernels compute", 1).span(Category::kernel, "matmul", 35, 39, 4);
  story.on("device compute", 1).span(Category::compute, "1F9", 90, 90, 4);
  return story.tell();
}

class DeviceWorkTest : public testing::Test {
 protected:
  const Span& span(const std::string& name) const {
    for (const Span& each : recording_.spans)
      if (recording_.names.at(each.name) == name && each.category != Category::launch) return each;
    throw std::out_of_range(name);
  }
  std::string name(const Span* span) const { return span == nullptr ? "" : recording_.names.at(span->name); }

  const Recording recording_ = handed_over();
  const DeviceWork devices_{recording_};
};

TEST_F(DeviceWorkTest, KnowsWhatEndedLastOnAnyStream) {
  EXPECT_EQ(name(devices_.last_before(1, 200'000)), "1F2") << "neither kernels nor what took no time";
  EXPECT_EQ(name(devices_.last_before(1, 89'000)), "all_reduce tp");
  EXPECT_EQ(name(devices_.last_before(1, 35'000)), "copy for 1F2");
  EXPECT_EQ(name(devices_.last_before(1, 34'000)), "");
  EXPECT_EQ(name(devices_.last_before(3, 34'000)), "");
  EXPECT_TRUE(devices_.is_late(0));
  EXPECT_FALSE(devices_.is_late(3));
}

TEST_F(DeviceWorkTest, KnowsWhereComputeStandsStill) {
  EXPECT_EQ(devices_.stall_in(span("1F2"), 90'000)->start_ns, 60'000);
  EXPECT_EQ(devices_.stall_in(span("1F2"), 60'000)->start_ns, 40'000);
  EXPECT_EQ(devices_.stall_in(span("1F2"), 40'000), nullptr);
  EXPECT_EQ(devices_.stall_in(span("0F2"), 20'000), nullptr);
}

TEST_F(DeviceWorkTest, KnowsWhoComputedWhatIsCopiedAndWhoGaveTheWork) {
  const Span* const made = devices_.computed_for(span("copy for 1F2"));
  EXPECT_EQ(name(made), "0F2") << "of that microbatch";
  EXPECT_EQ(recording_.actors.at(made->actor).rank, 0) << "of its own pipeline";
  EXPECT_EQ(name(devices_.computed_for(span("1F2"))), "0F2") << "by the copy for it";
  EXPECT_EQ(devices_.computed_for(span("0F2")), nullptr);
  EXPECT_EQ(devices_.launch_of(span("1F2"))->category, Category::launch);
  EXPECT_EQ(devices_.launch_of(span("0F1")), nullptr);
}

}  // namespace
}  // namespace d9d::trace
