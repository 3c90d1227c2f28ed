#pragma once
// How a process ends that has LibTorch.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace d9d {

// From then on exit() ends the process before it reaches the destructors of statics that were registered before, as
// those of LibTorch, which take apart 3,000 operators one by one (0.2 s of a core). Handlers of atexit() and statics of
// what is loaded later, such as users' plugins, still run; standard streams are written out.
// Not under sanitizers or coverage, which report at the exit.
inline void leave_at_once_on_exit() {
  on_exit(
      [](int code, void* /*none*/) {
        std::fflush(nullptr);
        _exit(code);
      },
      nullptr);
}

}  // namespace d9d
