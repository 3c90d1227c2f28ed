#include "actors/load_program.hpp"

#include <dlfcn.h>
#include <torch/headeronly/version.h>  // of numbers only
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/host/library_settings.hpp"
#include "runtime/base/host/torch_library.hpp"

namespace d9d {
namespace {

// LibTorch by its path; libd9d.so then takes what is loaded. RTLD_LOCAL: libd9d.so stays first in the order in which
// names are looked up.
// Decision: dlopen() instead of starting anew with LD_LIBRARY_PATH, because children would inherit that, and each
// folder of the nvidia wheels had to be in it, which LibTorch's own rpath knows.
std::string load_torch(const TorchLibrary& torch) {
  if (torch.folder.empty()) return torch.problem;
  if (dlopen((torch.folder + "/libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return "";
  return torch_text(torch) + ", cannot be loaded: " + dlerror() +
         "; install it anew, with what it depends on";
}

}  // namespace

ProgramMain load_program(std::string& problem) {
  set_library_settings();
  // Without a working directory oneMKL would end the process with a misleading text.
  char* const here = getcwd(nullptr, 0);
  if (here == nullptr) {
    problem = std::string("the working directory cannot be found (") + std::strerror(errno) +
              "): was it removed? Change to another one";
    return nullptr;
  }
  std::free(here);
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const TorchLibrary torch =
      find_torch({program.parent_path().parent_path().string(), TORCH_VERSION, D9D_BUILT_TORCH});
  problem = load_torch(torch);
  if (!problem.empty()) return nullptr;
  void* library = dlopen("libd9d.so", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    problem = std::string("cannot load libd9d.so: ") + dlerror() + " (with " + torch_text(torch) + ")";
    return nullptr;
  }
  const auto run = reinterpret_cast<ProgramMain>(dlsym(library, "d9d_main"));
  if (run == nullptr) problem = std::string("libd9d.so is of another version: ") + dlerror();
  return run;
}

}  // namespace d9d
