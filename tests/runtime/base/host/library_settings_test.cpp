#include "runtime/base/host/library_settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace d9d {
namespace {

TEST(LibrarySettings, AreSetWhereTheUserSaidNothing) {
  constexpr const char* names[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "NCCL_RUNTIME_CONNECT",
                                   "NCCL_LAUNCH_ORDER_IMPLICIT"};
  for (const char* const name : names) unsetenv(name);
  setenv("NCCL_RUNTIME_CONNECT", "1", 1);

  EXPECT_TRUE(set_library_settings()) << "libraries that are loaded do not know of them";

  EXPECT_STREQ(std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT"), "1");
  EXPECT_STREQ(std::getenv("NCCL_RUNTIME_CONNECT"), "1") << "the user's";
  EXPECT_FALSE(set_library_settings()) << "nothing is missing any more";
}

}  // namespace
}  // namespace d9d
