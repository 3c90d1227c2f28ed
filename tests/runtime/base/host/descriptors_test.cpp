#include "runtime/base/host/descriptors.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace d9d {
namespace {

TEST(DescriptorLimit, IsRaisedToWhatTheAdministratorAllows) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit low{64, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);

  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);

  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace d9d
