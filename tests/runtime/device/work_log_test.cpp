#include "runtime/device/work_log.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d {
namespace {

using Kind = LoggedWork::Kind;
constexpr std::int64_t ms = 1'000'000, host_ns = 1000 * ms;

class WorkLogTest : public testing::Test {
 protected:
  WorkLogTest() {
    delayed::plant({.cost = [](const delayed::Given&) { return 2 * ms; }, .host_ns = [] { return host_ns; }});
  }
  ~WorkLogTest() override { delayed::plant({}); }

  void work(StreamRole role) {
    machine_.enqueue(static_cast<int>(role), {"work", {}}, [] {});
  }

  delayed::Machine& machine_ = delayed::machine(6);
  const std::shared_ptr<Device> device_ = delayed_device(6);
  // Streams of the process's device keep their time from test to test.
  const std::int64_t before_ns_ = [this] {
    const Event begin = device_->record();
    begin.wait("a test");
    return begin.reached_ns();
  }();
};

TEST_F(WorkLogTest, TellsWhenTheDeviceDidWhatItWasGiven) {
  WorkLog log(false);
  log.set_origin({.step = 3, .flow = 77});
  work(StreamRole::compute);
  WorkTimer timer(&log, *device_, {.name = "0F1", .stage = 0, .microbatch = 1});
  work(StreamRole::compute);
  work(StreamRole::compute);
  timer.end();

  EXPECT_TRUE(log.take_done().empty()) << "not yet";
  device_->record().wait("the step's end");
  const auto done = log.take_done();

  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].begin_ns, before_ns_ + 2 * ms);
  EXPECT_EQ(done[0].end_ns, before_ns_ + 6 * ms);
  EXPECT_EQ(done[0].origin.step, 3);
  EXPECT_EQ(done[0].origin.flow, 77U);
  EXPECT_TRUE(log.take_done().empty()) << "each once";
}

TEST_F(WorkLogTest, KeepsWhatIsNotDoneYet) {
  int told = 0;
  WorkLog log(false, [&](const LoggedWork& done) {
    EXPECT_EQ(done.name, told == 0 ? "second" : "first");
    ++told;
  });
  const auto gate = std::make_shared<delayed::Mark>(machine_, delayed::collective_stream);
  machine_.hold(static_cast<int>(StreamRole::copy_in), gate, nullptr);
  WorkTimer first(&log, *device_, {.name = "first", .stream = StreamRole::copy_in});
  work(StreamRole::copy_in);
  first.end();
  WorkTimer second(&log, *device_, {.name = "second"});
  second.end();
  device_->record().wait("a test");

  log.settle();
  EXPECT_EQ(told, 1);
  gate->set(host_ns);
  device_->record(StreamRole::copy_in).wait("a test");
  log.settle();

  EXPECT_EQ(told, 2);
  EXPECT_EQ(log.take_done().size(), 2U);
}

TEST_F(WorkLogTest, HasWaitsOfTheComputeStreamAsStallsIfItIsDetailed) {
  for (const bool detailed : {false, true}) {
    WorkLog log(detailed);
    const WorkLog::Scope scope(&log);
    work(StreamRole::communicate);
    work(StreamRole::communicate);
    work(StreamRole::compute);
    wait_inside(*device_, device_->record(StreamRole::communicate), "wait for tp[0,1]");
    device_->record().wait("a test");
    const auto done = log.take_done();

    ASSERT_EQ(done.size(), detailed ? 1U : 0U);
    if (!detailed) continue;
    EXPECT_EQ(done[0].kind, Kind::stall);
    EXPECT_EQ(done[0].name, "wait for tp[0,1]");
  }
}

TEST_F(WorkLogTest, IsOneOfTheThreadWhileItsScopeLasts) {
  WorkLog outer(false), inner(true);
  EXPECT_EQ(WorkLog::current(), nullptr);
  {
    const WorkLog::Scope one(&outer);
    EXPECT_EQ(WorkLog::current_if_detailed(), nullptr);
    const WorkLog::Scope two(&inner);
    EXPECT_EQ(WorkLog::current_if_detailed(), &inner);
  }
  EXPECT_EQ(WorkLog::current(), nullptr);
}

TEST_F(WorkLogTest, IsNotNeeded) {
  WorkTimer timer(nullptr, *device_, {.name = "0F1"});
  timer.end();
  WorkTimer().end();
}

}  // namespace
}  // namespace d9d
