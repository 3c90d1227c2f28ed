#include "runtime/rank/state/slept_memory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <fstream>

#include "runtime/base/host_limits.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/train/flat_buffer.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t count = 8 << 20;  // 32 MiB of float

// Bytes of this process in memory.
std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096;
}

// The open file of this process that had this name: it has none any more.
std::string nameless(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry, ignored) == path + " (deleted)") return entry.path();
  }
  return "no file of that name";
}

struct SleptMemoryTest : ::testing::Test {
  SleptMemoryTest() : values(zeroed_flat_buffer(count, at::kFloat, at::kCPU)) {
    values.copy_(at::arange(count, at::kFloat));
    memory.add(values);
  }
  std::string file() const { return (folder / "rank-0").string(); }

  test::TemporaryFolder folder;
  PosixDisk disk;
  at::Tensor values;
  SleptMemory memory{disk};
};

TEST_F(SleptMemoryTest, GoesAndComesBackBitForBitUnderAllItsViews) {
  const at::Tensor view = values.narrow(0, 1000, 1000);
  const at::Tensor before = view.clone();
  memory.add(view);  // the same storage
  const void* const address = view.data_ptr();
  const std::uint64_t full = resident();

  EXPECT_EQ(memory.sleep(file()), static_cast<std::uint64_t>(count) * 4);
  EXPECT_TRUE(memory.is_asleep());
  EXPECT_LT(resident() + (28 << 20), full);
  EXPECT_EQ(std::filesystem::file_size(nameless(file())), static_cast<std::uint64_t>(count) * 4);
  EXPECT_FALSE(std::filesystem::exists(file())) << "whatever ends the process, nothing is left";
  memory.wake();

  EXPECT_EQ(view.data_ptr(), address);
  EXPECT_TRUE(view.equal(before));
  EXPECT_TRUE(values.equal(at::arange(count, at::kFloat)));
  EXPECT_EQ(nameless(file()), "no file of that name");
  EXPECT_EQ(memory.sleep(file()), static_cast<std::uint64_t>(count) * 4) << "once more";
  memory.wake();
}

TEST_F(SleptMemoryTest, OfZerosNeedsNoFile) {
  const at::Tensor gradients = zeroed_flat_buffer(count, at::kFloat, at::kCPU);
  gradients.fill_(1);
  gradients.zero_();
  memory.add(gradients, /*zero=*/true);
  const std::uint64_t full = resident();

  memory.sleep(file());

  EXPECT_LT(resident() + (60 << 20), full);
  EXPECT_EQ(std::filesystem::file_size(nameless(file())), static_cast<std::uint64_t>(count) * 4);
  memory.wake();
  EXPECT_EQ(gradients.abs().sum().item<float>(), 0);
}

// Its blocks go back to the device, whose pages go back to the system; views ask their storage where it is.
TEST_F(SleptMemoryTest, OfADeviceGoesAndComesBackBitForBitUnderAllItsViews) {
  const auto device = delayed_device(5);
  delayed::Memory& of_device = delayed::machine(5).memory();
  const std::size_t others = of_device.bytes_in_use();
  const at::Tensor there = upload(at::arange(count, at::kFloat), *device);
  const at::Tensor view = there.narrow(0, 1000, 1000), gradients = at::zeros({count}, there.options());
  {
    const StreamScope elsewhere(*device, StreamRole::communicate);
    device->wait(device->record(StreamRole::compute));
    view.add_(1);
    device->use(view, StreamRole::communicate);
  }
  SleptMemory slept{disk};
  slept.add(view);
  slept.add(gradients, /*zero=*/true);
  device->finish();
  const std::uint64_t full = resident();

  EXPECT_EQ(slept.sleep(file()), static_cast<std::uint64_t>(count) * 8);
  EXPECT_EQ(of_device.bytes_in_use(), others);
  ASSERT_THAT(slept.devices(), ::testing::SizeIs(1));
  (*slept.devices().begin())->trim();
  EXPECT_LT(resident() + (60 << 20), full);
  const at::Tensor taken = at::empty({count}, there.options());  // by somebody else meanwhile
  slept.wake();

  at::Tensor expected = at::arange(count, at::kFloat);
  expected.narrow(0, 1000, 1000).add_(1);
  EXPECT_TRUE(there.cpu().equal(expected));
  EXPECT_TRUE(view.cpu().equal(expected.narrow(0, 1000, 1000)));
  EXPECT_EQ(gradients.abs().sum().item<float>(), 0);
  slept.sleep(file());
  slept.wake();
  EXPECT_TRUE(there.cpu().equal(expected)) << "once more";
}

TEST_F(SleptMemoryTest, StaysWhereTheFileCannotBeWrittenAndIsNotTakenFromADamagedOne) {
  EXPECT_THAT(test::error_of([&] { memory.sleep((folder / "nowhere" / "rank").string()); }),
              HasSubstr("nowhere"));
  EXPECT_FALSE(memory.is_asleep());
  EXPECT_EQ(values[5].item<float>(), 5);
  memory.sleep(file());
  std::fstream(nameless(file()), std::ios::in | std::ios::out | std::ios::binary).seekp(4000).put('x');

  EXPECT_THAT(test::error_of([&] { memory.wake(); }), HasSubstr("is not what was written"));
}

}  // namespace
}  // namespace d9d
