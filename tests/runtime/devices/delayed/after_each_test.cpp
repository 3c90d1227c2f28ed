// A test may leave devices behind an access that no event orders, after which they run nothing (machine.hpp), and
// another one as the thread's device.
#include <gtest/gtest.h>

#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

class SeedAnew : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    for (int device = 0; device < 4; ++device) machine(device).reseed(1);
    current().device = 0;
  }
};
[[maybe_unused]] const bool appended = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new SeedAnew);
  return true;
}();

}  // namespace
}  // namespace d9d::delayed
