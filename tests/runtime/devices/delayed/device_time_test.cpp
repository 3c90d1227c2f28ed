// Streams side by side, whatever the order in which one thread does their work.
#include "runtime/devices/delayed/device_time.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int compute = 0, communicate = 1;

class DeviceTime : public testing::Test {
 protected:
  DeviceTime() {
    plant({.cost = [](const Given& given) { return std::string(given.op) == "long" ? 5 * ms : ms; },
           .host_ns = [this] { return host_; }});
  }
  ~DeviceTime() override { plant({}); }

  std::int64_t host_ = 1000 * ms;  // the host's clock
};

TEST_F(DeviceTime, IsThatOfStreamsThatWorkAtOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(7, seed);
    machine.enqueue(compute, {"long", {}}, [] {});
    machine.enqueue(communicate, {"short", {}}, [] {});
    const auto beside = machine.record(communicate), behind = machine.record(compute);
    machine.wait_for(communicate, behind);
    machine.enqueue(communicate, {"short", {}}, [] {});
    const auto end = machine.record(communicate);
    machine.reach(*end);

    EXPECT_EQ(beside->reached_ns(), host_ + ms);
    EXPECT_EQ(behind->reached_ns(), host_ + 5 * ms);
    EXPECT_EQ(end->reached_ns(), host_ + 6 * ms);
  }
}

TEST_F(DeviceTime, WaitsForOtherDevices) {
  Machine one(6, 1), other(7, 2);
  one.enqueue(compute, {"long", {}}, [] {});
  other.enqueue(compute, {"short", {}}, [] {});
  other.wait_for(compute, one.record(compute));
  other.enqueue(compute, {"short", {}}, [] {});
  const auto end = other.record(compute);
  other.reach(*end);

  EXPECT_EQ(end->reached_ns(), host_ + 6 * ms);
}

TEST_F(DeviceTime, IsNotBeforeTheHostGaveTheWork) {
  Machine machine(7, 1);
  machine.enqueue(compute, {"long", {}}, [] {});
  host_ += 2 * ms;  // while the stream is busy
  machine.enqueue(compute, {"short", {}}, [] {});
  const auto busy = machine.record(compute);
  host_ += 10 * ms;
  machine.enqueue(compute, {"short", {}}, [] {});
  const auto idle = machine.record(compute);
  machine.reach(*idle);

  EXPECT_EQ(busy->reached_ns(), 1006 * ms);
  EXPECT_EQ(idle->reached_ns(), 1013 * ms);
}

TEST_F(DeviceTime, IsUnknownBeforeItsTime) {
  const auto device = delayed_device(5);
  const Event begin = device->record_time(StreamRole::compute);
  EXPECT_EQ(begin.reached_ns(), 0);
  begin.wait("a test");
  EXPECT_GE(begin.reached_ns(), host_);
  EXPECT_EQ(Event().reached_ns(), 0);
}

TEST_F(DeviceTime, IsWhatWorkTookIfNothingIsPlanted) {
  plant({});
  Machine machine(7, 1);
  const auto begin = machine.record(compute);
  machine.enqueue(compute, {"spins", {}}, [] {
    const std::int64_t until = host_time_ns() + 3 * ms;
    while (host_time_ns() < until) {
    }
  });
  const auto end = machine.record(compute);
  machine.reach(*end);

  EXPECT_GE(end->reached_ns() - begin->reached_ns(), 3 * ms);
  EXPECT_LE(end->reached_ns(), SystemClock().now_ns()) << "when the host knows of it";
}

TEST_F(DeviceTime, LetsHostsWaitForPlantedWork) {
  std::int64_t cost = 4 * ms;
  plant({.cost = [&cost](const Given&) { return cost; }});
  Machine machine(7, 1);
  machine.enqueue(compute, [] {});
  const auto soon = machine.record(compute);
  machine.reach(*soon);

  EXPECT_GE(SystemClock().now_ns(), soon->reached_ns());
  EXPECT_TRUE(Machine::sees(*soon));

  cost = 3'600'000 * ms;  // nobody waits for it
  machine.enqueue(compute, [] {});
  const auto late = machine.record(compute);
  while (!late->reached()) Machine::work_towards(*late);

  EXPECT_FALSE(Machine::sees(*late));
}

TEST_F(DeviceTime, IsPlantedByActionInAText) {
  const auto cost = costs_of("F=2,W=0.5,communicate=0.25");
  const std::string forward = "0F1", weight = "0W1", inside = "0F1, all_reduce of tp[0,1]",
                    update = "the update";
  const auto of = [&](int stream, const char* op, const std::string& work) {
    return cost({stream, 0, op, &work});
  };

  EXPECT_EQ(of(compute, "copy", forward), 0) << "what brings the inputs";
  EXPECT_EQ(of(compute, "mm", forward), 2 * ms);
  EXPECT_EQ(of(compute, "mm", forward), 0) << "the first piece took all";
  EXPECT_EQ(cost({compute, 0, "", nullptr}), 0) << "freed memory";
  EXPECT_EQ(of(compute, "add", inside), 0);
  EXPECT_EQ(of(communicate, "copy", inside), ms / 4);
  EXPECT_EQ(of(collective_stream, "ncclAllReduce", inside), ms / 4);
  EXPECT_EQ(of(compute, "mm", weight), ms / 2);
  EXPECT_EQ(of(compute, "adamw", update), 0);
  EXPECT_EQ(of(compute, "mm", forward), 2 * ms) << "of the next step";
  EXPECT_EQ(costs_of("compute=0.5")({compute, 0, "adamw", &update}), ms / 2);
  for (const char* bad : {"F", "F=", "F=x", "G=1", "F=-1", "F=1;B=2"})
    EXPECT_THROW(costs_of(bad), Error) << bad;
}

}  // namespace
}  // namespace d9d::delayed
