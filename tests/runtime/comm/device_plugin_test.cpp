#include "runtime/comm/device_plugin.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& path, DeviceLibrary library = DeviceLibrary::cuda) {
  const char* const variable = library == DeviceLibrary::cuda ? "D9D_CUDA_PLUGIN" : "D9D_DELAYED_PLUGIN";
  setenv(variable, path.c_str(), 1);
  const std::string text = test::error_of([&] { DevicePlugin plugin(library); }, ErrorKind::input);
  unsetenv(variable);
  return text;
}

TEST(DevicePlugin, SaysThatThisBuildHasNone) {
  EXPECT_THAT(refusal("/nowhere/libd9d_cuda.so"),
              AllOf(HasSubstr("this build has no CUDA plugin: /nowhere/libd9d_cuda.so"),
                    HasSubstr("node.device: cpu")));
  EXPECT_THAT(refusal("/nowhere/libd9d_delayed.so", DeviceLibrary::delayed),
              AllOf(HasSubstr("this build has no plugin of delayed devices: /nowhere/libd9d_delayed.so"),
                    HasSubstr("build or install d9d again"), HasSubstr("node.device: cpu")));
}

TEST(DevicePlugin, SaysWhatKeepsItFromLoading) {
  EXPECT_THAT(refusal(D9D_SOURCE_DIR "/CMakeLists.txt"), HasSubstr("cannot be loaded"));
}

TEST(DevicePlugin, RefusesALibraryThatIsNone) {
  EXPECT_THAT(refusal("/lib/x86_64-linux-gnu/libm.so.6"), HasSubstr("is not a CUDA plugin of d9d"));
}

TEST(DevicePlugin, IsBesideTheProgramUnlessTheEnvironmentNamesIt) {
  EXPECT_EQ(device_plugin_path(DeviceLibrary::cuda), D9D_BINARY_DIR "/tests/runtime/comm/libd9d_cuda.so");
  EXPECT_EQ(device_plugin_path(DeviceLibrary::delayed),
            D9D_BINARY_DIR "/tests/runtime/comm/libd9d_delayed.so");
  setenv("D9D_CUDA_PLUGIN", "/else/where.so", 1);
  EXPECT_EQ(device_plugin_path(DeviceLibrary::cuda), "/else/where.so");
  unsetenv("D9D_CUDA_PLUGIN");
}

}  // namespace
}  // namespace d9d
