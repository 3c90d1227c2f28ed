#include "runtime/base/host/library_settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace d9d {
namespace {

TEST(LibrarySettings, AreSetWhereTheUserSaidNothing) {
  constexpr const char* names[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "NCCL_RUNTIME_CONNECT",
                                   "NCCL_LAUNCH_ORDER_IMPLICIT", "PYTORCH_ALLOC_CONF"};
  for (const char* const name : names) unsetenv(name);
  setenv("NCCL_RUNTIME_CONNECT", "1", 1);

  EXPECT_TRUE(set_library_settings()) << "libraries that are loaded do not know of them";

  EXPECT_STREQ(std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT"), "1");
  EXPECT_STREQ(std::getenv("NCCL_RUNTIME_CONNECT"), "1") << "the user's";
  EXPECT_STREQ(std::getenv("PYTORCH_ALLOC_CONF"), "expandable_segments:True");
  EXPECT_FALSE(set_library_settings()) << "nothing is missing any more";
}

TEST(LibrarySettings, MapNoMemoryWhereDriversRefuseIt) {
  EXPECT_TRUE(may_map_memory("6.1.0-18-amd64"));
  EXPECT_TRUE(may_map_memory("6.8.0-1021-aws"));
  EXPECT_TRUE(may_map_memory("6.11.0-1016-nvidia"));  // DGX
  EXPECT_FALSE(may_map_memory("5.15.153.1-microsoft-standard-WSL2"));
  EXPECT_FALSE(may_map_memory("4.4.0-19041-Microsoft"));
  EXPECT_FALSE(may_map_memory("5.15.148-tegra"));
}

// torch reads the older name, too, and what it says is all of the user's settings.
TEST(LibrarySettings, LeaveTheAllocatorToTheUserUnderBothNames) {
  for (const char* const name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    unsetenv("PYTORCH_ALLOC_CONF");
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
    setenv(name, "max_split_size_mb:512", 1);

    set_library_settings();

    const char* const newer = std::getenv("PYTORCH_ALLOC_CONF");
    EXPECT_EQ(newer == nullptr ? "" : std::string(newer),
              std::string(name) == "PYTORCH_ALLOC_CONF" ? "max_split_size_mb:512" : "");
    EXPECT_STREQ(std::getenv(name), "max_split_size_mb:512");
    unsetenv(name);
  }
}

}  // namespace
}  // namespace d9d
