#include "actors/notes/device_tracks.hpp"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "tests/support/idle_device.hpp"

namespace d9d {
namespace {

using trace::Category;

TEST(DeviceTracks, HaveWhatTheDeviceDidWithAnArrowFromItsLaunch) {
  const auto device = delayed_device(3);
  trace::Recorder recorder;
  WorkLog log(true);
  DeviceTracks tracks(&log, &recorder, 5);

  const trace::Span launch = tracks.begun({.step = 4, .category = Category::compute}, false);
  WorkTimer action(&log, *device, {.name = "1F2", .stage = 1, .microbatch = 2});
  action.end();
  using Kind = LoggedWork::Kind;
  for (const LoggedWork& other : {LoggedWork{.kind = Kind::collective,
                                 .name = "all_reduce tp[0,1]",
                                 .bytes = 64,
                                 .stream = StreamRole::communicate},
                                  LoggedWork{.kind = Kind::stall, .name = "wait for tp[0,1]"},
                                  LoggedWork{.kind = Kind::transfer, .name = "1F2"}}) {
    WorkTimer timer(&log, *device, other);
    timer.end();
  }
  device->record(StreamRole::communicate).wait("a test");
  device->record().wait("a test");
  const double seconds = tracks.record_done();

  EXPECT_EQ(launch.category, Category::launch);
  EXPECT_NE(launch.flow_out, 0U);
  const trace::Recording seen = recorder.snapshot();
  ASSERT_EQ(seen.spans.size(), 4U);
  std::map<std::string, trace::Span> spans;
  for (const trace::Span& span : seen.spans) {
    spans[seen.names.at(span.name)] = span;
    EXPECT_EQ(seen.actors.at(span.actor).rank, 5);
    EXPECT_EQ(span.step, 4);
    EXPECT_LE(span.start_ns, span.end_ns);
  }
  const auto track_of = [&](const std::string& name) { return seen.actors.at(spans.at(name).actor).name; };
  EXPECT_EQ(track_of("1F2"), "device compute");
  EXPECT_EQ(spans["1F2"].category, Category::compute);
  EXPECT_EQ(spans["1F2"].flow_in, launch.flow_out);
  EXPECT_EQ(spans["1F2"].stage, 1);
  EXPECT_EQ(spans["1F2"].microbatch, 2);
  EXPECT_DOUBLE_EQ(seconds, 1e-9 * static_cast<double>(spans["1F2"].end_ns - spans["1F2"].start_ns));
  EXPECT_EQ(track_of("all_reduce tp[0,1]"), "device communicate");
  EXPECT_EQ(spans["all_reduce tp[0,1]"].category, Category::collective);
  EXPECT_EQ(spans["all_reduce tp[0,1]"].bytes, 64U);
  EXPECT_EQ(spans["wait for tp[0,1]"].category, Category::stall);
  EXPECT_EQ(spans["wait for tp[0,1]"].flow_in, 0U);
  EXPECT_EQ(track_of("copy for 1F2"), "device compute");
  EXPECT_EQ(spans["copy for 1F2"].category, Category::collective);
}

TEST(DeviceTracks, AddNothingOnTheCpu) {
  trace::Recorder recorder;
  DeviceTracks tracks(nullptr, &recorder, 0);

  const trace::Span span = tracks.begun({.step = 4, .category = Category::compute}, false);

  EXPECT_FALSE(tracks.is_late());
  EXPECT_EQ(span.category, Category::compute);
  EXPECT_EQ(span.flow_out, 0U);
  EXPECT_EQ(tracks.record_done(), 0);
  EXPECT_TRUE(recorder.snapshot().spans.empty());
}

TEST(DeviceTracks, MeasureWithoutATraceToo) {
  delayed::plant({.cost = [](const delayed::Given&) { return 0; }, .host_ns = [] { return 1'000'000; }});
  const auto device = delayed_device(3);
  WorkLog log(false);
  DeviceTracks tracks(&log, nullptr, 0);
  const trace::Span span = tracks.begun({.category = Category::compute}, false);
  WorkTimer action(&log, *device, {.name = "0F0", .stage = 0});
  action.end();
  device->record().wait("a test");

  EXPECT_EQ(span.flow_out, 0U);
  EXPECT_EQ(tracks.record_done(), 0) << "no time between two marks";
  delayed::plant({});
}

TEST(DeviceTracks, HaveKernelsInTheStepsOfTheWindowInsideTheirActions) {
  const auto device = delayed_device(3);
  trace::Recorder recorder;
  WorkLog log(true);
  DeviceTracks tracks(&log, &recorder, 5);
  tracks.trace_kernels(device.get(), {.period = 3, .active = 1, .first_step = 2});

  for (std::uint64_t step = 2; step <= 5; ++step) {
    tracks.begin_step(step);
    static_cast<void>(tracks.begun({.step = static_cast<int>(step), .category = Category::compute}, false));
    WorkTimer action(&log, *device, {.name = "1F2", .stage = 1, .microbatch = 2});
    at::Tensor x = at::ones({8}, device->place());
    x.mul_(2);
    action.end();
    device->record().wait("a test");
    tracks.record_done();
    x.add_(1);  // in no action, as an update's copies
    device->record().wait("a test");
  }

  std::multiset<std::string> kernels;
  trace::Span action;
  const trace::Recording seen = recorder.snapshot();
  for (const trace::Span& span : seen.spans)
    if (span.category == Category::compute && span.step == 4) action = span;
  for (const trace::Span& span : seen.spans) {
    if (span.category != Category::kernel) continue;
    kernels.insert(seen.names.at(span.name));
    EXPECT_EQ(span.step, 4);
    if (seen.names.at(span.name) == "aten::add") {
      EXPECT_EQ(span.stage, -1);
      continue;
    }
    EXPECT_EQ(span.stage, 1);
    EXPECT_EQ(span.microbatch, 2);
    EXPECT_GE(span.start_ns, action.start_ns);
    EXPECT_LE(span.end_ns, action.end_ns);
    EXPECT_EQ(seen.actors.at(span.actor).name, "device kernels compute");
    EXPECT_EQ(seen.actors.at(span.actor).rank, 5);
  }
  EXPECT_EQ(kernels, (std::multiset<std::string>{"aten::fill_", "aten::mul", "aten::add"}));
}

// A device that may not say what it runs costs its kernels, not the job.
class SilentDevice final : public test::IdleDevice {
 public:
  std::string note_kernels(bool) override {
    ++asked;
    return "the driver does not allow it";
  }
  std::vector<KernelRun> take_kernels() override { throw std::logic_error("nothing is noted"); }
  int asked = 0;
};

TEST(DeviceTracks, GoOnWithoutKernelsWhereTheDeviceRefuses) {
  trace::Recorder recorder;
  WorkLog log(true);
  DeviceTracks tracks(&log, &recorder, 5);
  SilentDevice device;
  tracks.trace_kernels(&device, {.period = 1, .active = 1});

  for (std::uint64_t step = 1; step <= 3; ++step) {
    tracks.begin_step(step);
    tracks.record_done();
  }

  EXPECT_EQ(device.asked, 1);
  EXPECT_TRUE(recorder.snapshot().spans.empty());
}

}  // namespace
}  // namespace d9d
