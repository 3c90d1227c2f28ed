#include "runtime/rank/state/snapshot_copies.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <optional>

#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SnapshotCopiesTest : public ::testing::Test {
 protected:
  SnapshotCopiesTest()
      : first_(at::arange(1000, at::kFloat)),
        parameter_(upload(first_, *device_)),
        buffer_(upload(first_.add(0.5), *device_)) {
    device_->finish();
    HostWaits::take();
  }
  ~SnapshotCopiesTest() override { delayed::machine(index).reseed(1); }
  std::vector<StateEntry> entries() const {
    return {{.kind = "param", .name = "weight", .tensor = parameter_},
            {.kind = buffer_kind, .name = "mean", .tensor = buffer_}};
  }
  void expect_first_values(const SnapshotCopies::Copied& copied) const {
    copied.when.wait("a test");
    EXPECT_TRUE(copied.tensors[0].equal(first_));
    EXPECT_TRUE(copied.tensors[1].equal(first_.add(0.5)));
  }

  static constexpr int index = 6;
  const std::shared_ptr<Device> device_ = delayed_device(index);
  const at::Tensor first_;
  at::Tensor parameter_, buffer_;
};

TEST_F(SnapshotCopiesTest, OfADeviceHoldNobodyUpButWhatChangesTheStateNext) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    delayed::machine(index).reseed(seed);
    parameter_.copy_(first_);
    buffer_.copy_(first_.add(0.5));
    SnapshotCopies copies(device_);
    HostWaits::take();

    const auto copied = copies.copy(entries());
    copies.before_buffers_change();
    buffer_.mul_(2);
    copies.before_state_changes();
    parameter_.mul_(2);

    EXPECT_THAT(HostWaits::take(), IsEmpty());
    expect_first_values(copied);
    EXPECT_TRUE(parameter_.cpu().equal(first_.mul(2)));
    HostWaits::take();
  }
}

TEST_F(SnapshotCopiesTest, ShowThatAWaitForThemIsMissing) {
  SnapshotCopies copies(device_);
  const auto copied = copies.copy(entries());

  EXPECT_THAT(test::error_of([&] { buffer_.mul_(2); }), HasSubstr("delayed:6 copy_out in a snapshot"));
  copies.before_buffers_change();
  buffer_.mul_(2);
  EXPECT_THAT(test::error_of([&] { parameter_.mul_(2); }), HasSubstr("delayed:6 copy_out in a snapshot"));
}

TEST_F(SnapshotCopiesTest, KeepTheMemoryOfTheHostUnlessSomebodyReadsIt) {
  SnapshotCopies copies(device_);
  const auto place = [](const SnapshotCopies::Copied& copied) { return copied.tensors[0].const_data_ptr(); };
  auto copied = copies.copy(entries());
  const void* const first = place(copied);
  expect_first_values(copied);
  copied = {};
  auto next = copies.copy(entries());
  EXPECT_EQ(place(next), first);

  const auto third = copies.copy(entries());  // while the second is held

  EXPECT_NE(place(third), first);
  expect_first_values(next);
  expect_first_values(third);
  copies.give_memory_back();
  expect_first_values(third);
}

TEST_F(SnapshotCopiesTest, AreMadeBeforeMemoryThatIsFreedIsUsedAgain) {
  std::optional<SnapshotCopies> copies(device_);
  const auto copied = copies->copy(entries());
  const WorkName work("the end of a rank");

  copies.reset();
  parameter_.reset();
  buffer_.reset();
  const at::Tensor other = at::full({1000}, 7, at::TensorOptions(device_->place()).dtype(at::kFloat));

  expect_first_values(copied);
  EXPECT_EQ(other.cpu()[0].item<float>(), 7);
}

TEST_F(SnapshotCopiesTest, OfTheCpuAreMadeAtOnce) {
  SnapshotCopies copies(cpu_device());
  const at::Tensor parameter = first_.clone();

  const auto copied = copies.copy({{.kind = "param", .name = "weight", .tensor = parameter}});
  parameter.mul_(2);

  EXPECT_TRUE(copied.when.done());
  EXPECT_TRUE(copied.tensors[0].equal(first_));
}

}  // namespace
}  // namespace d9d
