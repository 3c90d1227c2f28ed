#include "runtime/base/host/control_groups.hpp"

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

// A host with both versions, as cgroups(7) calls it hybrid: each controller is in one hierarchy.
TEST(ControlGroups, AreThoseOfTheControllersHierarchyFromTheOwnUp) {
  const test::TemporaryFolder root;
  root.write("proc/self/cgroup", "5:memory:/batch/job7\n0::/user.slice\n");
  root.write("proc/self/mountinfo",
             "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
             "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");

  const auto groups = control_groups("memory", root.path());

  const std::filesystem::path top = root.path() / "sys/fs/cgroup";
  std::vector<std::filesystem::path> folders;
  for (const ControlGroup& group : groups) folders.push_back(group.folder.lexically_relative(top));
  EXPECT_THAT(folders, testing::UnorderedElementsAre("unified/user.slice", "unified", "memory/batch/job7",
                                                     "memory/batch", "memory"));
  EXPECT_TRUE(control_groups("memory", root.path() / "nowhere").empty());
}

}  // namespace
}  // namespace d9d
