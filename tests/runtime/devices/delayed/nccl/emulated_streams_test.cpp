// What the emulated table knows of streams and events.
#include "runtime/devices/delayed/nccl/emulated_streams.hpp"

#include <gtest/gtest.h>

#include "runtime/devices/delayed/nccl/emulated.hpp"

namespace d9d::nccl {
namespace {

TEST(EmulatedStreams, ReachAnEventWhenSomebodyWorksForIt) {
  const Api& api = emulated_nccl();
  delayed::Machine& machine = delayed::machine(5);
  machine.reseed(3);
  Stream stream = nullptr;
  Event event = nullptr, behind = nullptr;
  api.use_device(5);
  api.create_stream(&stream);
  api.create_event(&event);
  api.create_event(&behind);
  EXPECT_EQ(api.query(event), success);  // never recorded
  const auto never = std::make_shared<delayed::Mark>(machine, 0);
  const auto ended = std::make_shared<std::atomic<bool>>(false);

  machine.hold(0, never, ended);
  const auto compute = api.current_stream(5);
  api.record(event, compute);
  api.stream_waits(stream, event);
  api.record(behind, stream);
  api.work_for(behind);
  EXPECT_EQ(api.query(behind), not_ready);  // behind what is held
  *ended = true;
  api.work_for(behind);

  EXPECT_EQ(api.query(behind), success);
  api.destroy_event(event);
  api.destroy_event(behind);
  api.destroy_stream(stream);
}

}  // namespace
}  // namespace d9d::nccl
