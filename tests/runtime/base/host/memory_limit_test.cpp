#include "runtime/base/host/memory_limit.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t gib = 1ULL << 30;

// The files of a system, as cgroups(7), proc(5) and the kernel's documentation of both versions describe them.
class MemoryLimit : public testing::Test {
 protected:
  std::uint64_t of_a_host_with(std::uint64_t bytes) const { return usable_memory(bytes, root.path()); }

  const test::TemporaryFolder root;
};

TEST_F(MemoryLimit, IsTheHostsWithoutGroups) {
  EXPECT_EQ(of_a_host_with(64 * gib), 64 * gib);
}

TEST_F(MemoryLimit, OfAServiceIsTheLeastOfItsGroups) {
  root.write("proc/self/cgroup", "0::/user.slice/job.service\n");
  root.write("proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/user.slice/memory.max", "8589934592\n");
  root.write("sys/fs/cgroup/user.slice/job.service/memory.max", "max\n");
  EXPECT_EQ(of_a_host_with(64 * gib), 8 * gib);

  root.write("sys/fs/cgroup/user.slice/job.service/memory.max", "4294967296\n");
  EXPECT_EQ(of_a_host_with(64 * gib), 4 * gib);
  EXPECT_EQ(of_a_host_with(2 * gib), 2 * gib);
}

// docker run --memory 2g: the group has its whole name, and the container sees it as the top.
TEST_F(MemoryLimit, OfAContainerUnderVersion1) {
  root.write("proc/self/cgroup", "4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n0::/docker/0123\n");
  root.write("proc/self/mountinfo",
             "44 32 0:40 /docker/0123 /sys/fs/cgroup/memory ro,nosuid master:18 - cgroup cgroup rw,memory\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(of_a_host_with(64 * gib), 2 * gib);

  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes",
             "9223372036854771712\n");  // none: the largest there is
  EXPECT_EQ(of_a_host_with(64 * gib), 64 * gib);
}

}  // namespace
}  // namespace d9d
