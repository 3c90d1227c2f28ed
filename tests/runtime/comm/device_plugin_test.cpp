#include "runtime/comm/device_plugin.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& path) {
  return test::error_of([&] { DevicePlugin plugin(path); }, ErrorKind::input);
}

TEST(DevicePlugin, SaysThatThisBuildHasNone) {
  EXPECT_THAT(refusal("/nowhere/libd9d_cuda.so"),
              AllOf(HasSubstr("this build has no CUDA plugin: /nowhere/libd9d_cuda.so"),
                    HasSubstr("node.device: cpu")));
}

TEST(DevicePlugin, SaysWhatKeepsItFromLoading) {
  EXPECT_THAT(refusal(D9D_SOURCE_DIR "/CMakeLists.txt"), HasSubstr("cannot be loaded"));
}

TEST(DevicePlugin, RefusesALibraryThatIsNone) {
  EXPECT_THAT(refusal("/lib/x86_64-linux-gnu/libm.so.6"), HasSubstr("is not a CUDA plugin of d9d"));
}

}  // namespace
}  // namespace d9d
