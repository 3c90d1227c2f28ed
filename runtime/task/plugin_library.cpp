#include "runtime/task/plugin_library.hpp"

#include <dlfcn.h>

#include "runtime/base/error.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

void load_plugin(const std::string& path, Registry& registry) {
  using Register = void (*)(Registry&);
  const auto enter = reinterpret_cast<Register>(plugin_function(path, "d9d_register"));
  const bool has_actors = plugin_function(path, "d9d_register_actors") != nullptr;
  D9D_REQUIRE(enter != nullptr || has_actors,
              "the plugin {} has neither `extern \"C\" void d9d_register(d9d::Registry&)` nor "
              "`d9d_register_actors(d9d::ActorRegistry&)`",
              path);
  if (enter == nullptr) return;
  call_user(fmt::format("d9d_register of the plugin {}", path), ErrorInside::passes,
            [&] { enter(registry); });
}

void* plugin_function(const std::string& path, const char* name) {
  // Loading again gives the same library; it is never closed, because what it made may live on.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorKind::input, fmt::format("cannot load the plugin {}: {}", path, dlerror()));
  }
  return dlsym(library, name);
}

}  // namespace d9d
