#include "runtime/device/work_name.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace d9d {
namespace {

TEST(WorkName, IsThatOfTheScopesAroundOnThisThread) {
  EXPECT_EQ(WorkName::current(), "");
  const std::string* kept = nullptr;
  std::string elsewhere = "none";
  {
    const WorkName action("2F3");
    const WorkName collective("all_reduce of dp");
    kept = &WorkName::current();
    std::thread([&] { elsewhere = WorkName::current(); }).join();
  }
  EXPECT_EQ(*kept, "2F3, all_reduce of dp") << "a name lives on";
  EXPECT_EQ(elsewhere, "");
  EXPECT_EQ(WorkName::current(), "");
}

}  // namespace
}  // namespace d9d
