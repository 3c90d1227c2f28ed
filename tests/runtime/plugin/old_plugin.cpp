// A plugin for plugin_library_test, of other headers or (D9D_MUTE) of unknown ones: nothing of it may run.
#include <cstdlib>

namespace d9d {
class Registry;
}

extern "C" void d9d_register(d9d::Registry& /*registry*/) {
  std::abort();
}
#ifndef D9D_MUTE
extern "C" const char* d9d_plugin_headers() {
  return "0.0.9-of-old";
}
#endif
