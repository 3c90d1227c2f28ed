// d9d-node: sets the variables that the OpenMP runtime reads when it is loaded, and only then loads
// everything else. Otherwise OpenMP's threads would spin while they wait, and the ranks of a process would
// take cores from each other.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
  // A short spin bridges the gaps between the loops of one layer; a longer one costs four times the step when
  // somebody else wants the core (measured: tests/bench/records/kernels.md).
  setenv("GOMP_SPINCOUNT", "2000", 0);
  // NCCL then connects the ranks when they open a group, and not at their first call, when some of them may be in a
  // collective already and hold what CUDA would need for it (device: cuda).
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  // Without a working directory oneMKL would end the process with a misleading text.
  char* const here = getcwd(nullptr, 0);
  if (here == nullptr) {
    std::fprintf(stderr,
                 "d9d-node: error: the working directory cannot be found (%s): was it removed? Change to "
                 "another one\n",
                 std::strerror(errno));
    return 1;
  }
  std::free(here);
  void* library = dlopen("libd9d.so", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    std::fprintf(stderr, "d9d-node: cannot load libd9d.so: %s\n", why);
    const bool torch = std::strstr(why, "libtorch") != nullptr || std::strstr(why, "libc10") != nullptr;
    if (torch) {
      std::fprintf(stderr,
                   "LibTorch is looked for in the folder that it had when this program was built: let this "
                   "user read that "
                   "folder, or name another one of the same version with LD_LIBRARY_PATH=FOLDER/torch/lib\n");
    }
    return 1;
  }
  const auto run = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "d9d_main"));
  if (run == nullptr) {
    std::fprintf(stderr, "d9d-node: libd9d.so is of another version: %s\n", dlerror());
    return 1;
  }
  return run(argc, argv);
}
