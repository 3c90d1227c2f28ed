#include "runtime/plugin/plugin_library.hpp"

#include <gmock/gmock.h>

#include "runtime/base/host/users_library.hpp"
#include "runtime/base/version.hpp"
#include "runtime/plugin/registry.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PluginLibrary, ThatIsNotThereIsAnInputErrorWithItsPath) {
  Registry registry;

  EXPECT_THAT(test::error_of([&] { load_plugin("/nowhere/libmine.so", registry); }, ErrorKind::input),
              AllOf(HasSubstr("cannot load the plugin /nowhere/libmine.so"), HasSubstr("No such file")));
}

TEST(PluginLibrary, ThatCannotBeLoadedSaysWhatToWrite) {
  Registry registry;
  const test::TemporaryFolder folder;
  folder.write("job.so", "no library");
  const std::string file = (folder.path() / "job.so").string();

  EXPECT_THAT(test::error_of([&] { load_plugin("./nowhere.so", registry); }, ErrorKind::input),
              HasSubstr("relative paths begin where d9d-node is started (/"));
  EXPECT_THAT(test::error_of([&] { load_plugin(file, registry); }, ErrorKind::input),
              AllOf(HasSubstr("cannot load the plugin " + file + ": "), HasSubstr("built against this d9d")));
}

TEST(PluginLibrary, OfOtherHeadersIsRefusedBeforeAnyOfItRuns) {
  Registry registry;

  EXPECT_THAT(test::error_of([&] { load_plugin(D9D_OLD_PLUGIN, registry); }, ErrorKind::input),
              AllOf(HasSubstr("was built against d9d 0.0.9-of-old, this is " + headers_id()),
                    HasSubstr("build it again")));
  EXPECT_THAT(test::error_of([&] { load_plugin(D9D_MUTE_PLUGIN, registry); }, ErrorKind::input),
              HasSubstr("does not say which d9d it was built against"));
}

TEST(PluginLibrary, WithoutADoorIsAnInputErrorThatSaysWhatIsMissing) {
  Registry registry;

  EXPECT_THAT(test::error_of([&] { load_plugin("libm.so.6", registry); }, ErrorKind::input),
              AllOf(HasSubstr("the plugin libm.so.6 has none of"), HasSubstr("d9d_register")));
  EXPECT_EQ(plugin_function("libm.so.6", "d9d_register"), nullptr);
  EXPECT_NE(plugin_function("libm.so.6", "cos"), nullptr);
}

}  // namespace
}  // namespace d9d
