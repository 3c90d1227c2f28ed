// What the loss takes of a device's memory.
#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/kernels/cross_entropy/loss_cases.hpp"

namespace d9d::delayed {
namespace {

class DeviceBytes {
 public:
  DeviceBytes() {
    machine(0).reseed(1);
    before_ = now();
  }
  std::int64_t now() const {
    return static_cast<std::int64_t>(total_of(machine(0).memory().pools().in_use)) - before_;
  }
  std::int64_t peak() const {
    return static_cast<std::int64_t>(total_of(machine(0).memory().pools().at_peak)) - before_;
  }

 private:
  std::int64_t before_ = 0;
};

class LossOnADevice : public testing::TestWithParam<test::LossCase> {};

TEST_P(LossOnADevice, TakesTheMemoryThatIsCounted) {
  const auto device = delayed_device(0);

  const test::LossMemory found = test::measured_loss<DeviceBytes>(GetParam(), device->place());

  test::expect_counted(GetParam(), found, kernels::Place::other);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LossOnADevice, testing::ValuesIn(test::loss_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace d9d::delayed
