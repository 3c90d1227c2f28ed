#include "runtime/base/host/cpu_quota.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

// The files of a system, as cgroups(7), proc(5) and the kernel's documentation of both versions describe them.
class CpuQuota : public testing::Test {
 protected:
  std::optional<double> quota() const { return cpu_quota(root.path()); }

  const test::TemporaryFolder root;
};

TEST_F(CpuQuota, IsNothingWithoutGroups) {
  EXPECT_EQ(quota(), std::nullopt);
}

// docker run --cpus 1.5, cgroup namespace of its own: the container sees its group as the top.
TEST_F(CpuQuota, OfAContainerUnderVersion2) {
  root.write("proc/self/cgroup", "0::/\n");
  root.write(
      "proc/self/mountinfo",
      "1187 1186 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n");
  root.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);

  root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
}

// systemd-run -p CPUQuota=20% below a slice of two cores: the smallest of all that hold counts.
TEST_F(CpuQuota, OfAServiceIsTheLeastOfItsGroups) {
  root.write("proc/self/cgroup", "0::/user.slice/job.service\n");
  root.write("proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n");
  root.write("sys/fs/cgroup/user.slice/job.service/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota(), 0.2);

  root.write("sys/fs/cgroup/user.slice/cpu.max", "10000 100000\n");
  EXPECT_EQ(quota(), 0.1);
}

// Version 1 without a namespace: the whole name of the group is told, and its folder is mounted at the top.
TEST_F(CpuQuota, OfAContainerUnderVersion1) {
  root.write("proc/self/cgroup", "4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n0::/docker/0123\n");
  root.write(
      "proc/self/mountinfo",
      "720 715 0:28 /docker/0123 /sys/fs/cgroup/memory ro,relatime master:12 - cgroup cgroup rw,memory\n"
      "721 715 0:29 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro,relatime master:13 - cgroup cgroup "
      "rw,cpu,cpuacct\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 4.0);

  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), std::nullopt);
}

// Version 1 on the host, the process in a group below the mount; version 2 beside it has no processors to give.
TEST_F(CpuQuota, OfAGroupUnderVersion1) {
  root.write("proc/self/cgroup", "1:cpu:/batch/job7\n0::/\n");
  root.write("proc/self/mountinfo",
             "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "250000\n");
  root.write("sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/batch/job7/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/batch/job7/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(CpuQuota, OfFilesThatSayNothingIsNone) {
  root.write("proc/self/cgroup", "nonsense\n0::\n:\n");
  root.write("proc/self/mountinfo", "1 2 3\n - \n35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/cpu.max", "");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CpuQuota, KeepsWholeCoresBusy) {
  EXPECT_EQ(whole_cores(16, {}), 16);
  EXPECT_EQ(whole_cores(16, 1.0), 1);
  EXPECT_EQ(whole_cores(16, 2.9), 2);
  EXPECT_EQ(whole_cores(16, 0.2), 1);
  EXPECT_EQ(whole_cores(2, 1e9), 2);
  EXPECT_EQ(whole_cores(0, {}), 1) << "the standard library may not know";
}

}  // namespace
}  // namespace d9d
