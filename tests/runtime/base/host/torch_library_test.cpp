#include "runtime/base/host/torch_library.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class TorchSearchTest : public testing::Test {
 protected:
  TorchSearchTest() {
    for (const char* name :
         {"D9D_TORCH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME"})
      ::unsetenv(name);
    ::setenv("HOME", path("home").c_str(), 1);
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  // LibTorch of a wheel in a venv; returns the folder of its libraries.
  std::string wheel(const std::string& venv, const std::string& version, const std::string& cuda) {
    const std::string torch = path(venv + "/lib/python3.12/site-packages/torch");
    fs::create_directories(torch + "/lib");
    std::ofstream(torch + "/lib/libtorch_cpu.so");
    std::ofstream(torch + "/version.py")
        << "__version__ = '" << version << "'\ncuda: Optional[str] = " << cuda << "\n";
    return torch + "/lib";
  }

  TorchLibrary find() const { return find_torch({path("venv"), "2.11.0", path("built")}); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(TorchSearchTest, TakesTheOneBesideTheProgramBeforeTheOneOfTheBuild) {
  const std::string built = wheel("built", "2.11.1+cpu", "None");
  EXPECT_EQ(find().folder, built);

  const std::string beside = wheel("venv", "2.11.0+cu130", "'13.0'");

  EXPECT_EQ(find().folder, beside);
  EXPECT_EQ(torch_text(find()), "LibTorch 2.11.0+cu130 with CUDA 13.0, in " + beside);
}

TEST_F(TorchSearchTest, PassesOverAnotherMinorReleaseAndNamesIt) {
  const std::string foreign = wheel("venv", "2.10.0", "None");
  EXPECT_THAT(find().problem, AllOf(HasSubstr("built for LibTorch 2.11, and there is none"),
                                    HasSubstr("LibTorch 2.10.0 without CUDA, in " + foreign),
                                    HasSubstr("pip install 'torch==2.11.*'")));

  const std::string active = wheel("active", "2.11.0", "None");
  ::setenv("VIRTUAL_ENV", path("active").c_str(), 1);

  EXPECT_EQ(find().folder, active);
}

TEST_F(TorchSearchTest, LooksNowhereElseThanInTheFolderThatItIsGiven) {
  wheel("venv", "2.11.0", "None");
  fs::create_directories(path("archive/lib"));
  ::setenv("D9D_TORCH", path("archive").c_str(), 1);
  EXPECT_THAT(find().problem, HasSubstr("there is none in D9D_TORCH=" + path("archive")));

  std::ofstream(path("archive/lib/libtorch_cpu.so"));
  std::ofstream(path("archive/build-version")) << "2.11.0+cpu\n";

  EXPECT_EQ(torch_text(find()), "LibTorch 2.11.0+cpu without CUDA, in " + path("archive/lib"));
}

TEST_F(TorchSearchTest, AVenvMayUseThePackagesOfItsPython) {
  const std::string shared = wheel("python", "2.11.0", "None");
  fs::create_directories(path("venv"));
  const auto configure = [&](const char* shares) {
    std::ofstream(path("venv/pyvenv.cfg"))
        << "home = " << path("python/bin") << "\ninclude-system-site-packages = " << shares << "\n";
  };
  configure("false");
  EXPECT_THAT(find().problem, HasSubstr("install it: " + path("venv") + "/bin/python -m pip install"));

  configure("true");

  EXPECT_EQ(find().folder, shared);
}

TEST_F(TorchSearchTest, FindsWhereTheDependenciesScriptPutsIt) {
  const std::string cached = wheel("home/.cache/d9d/torch-2.11.0", "2.11.0", "None");

  EXPECT_EQ(find().folder, cached);
}

}  // namespace
}  // namespace d9d
