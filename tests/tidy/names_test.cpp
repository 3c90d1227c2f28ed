// What ctest calls the tests of this build. A name of bytes changes from run to run, and nobody can ask for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace d9d::tidy {
namespace {

namespace fs = std::filesystem;

TEST(Tidy, ParametersOfTestsPrintAsText) {
  for (const auto& entry : fs::recursive_directory_iterator(D9D_BINARY_DIR "/tests")) {
    if (!entry.path().filename().string().ends_with("_tests.cmake")) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      EXPECT_EQ(line.find("-byte object <"), std::string::npos)
          << entry.path().filename() << ": give the type of the parameter a PrintTo: " << line.substr(0, 200);
    }
  }
}

}  // namespace
}  // namespace d9d::tidy
