#include "runtime/plugin/plugin_library.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/users_library.hpp"
#include "runtime/job/reading/own_models.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

void load_plugin(const std::string& path, Registry& registry) {
  using Register = void (*)(Registry&);
  const auto enter = reinterpret_cast<Register>(plugin_function(path, "d9d_register"));
  const bool has_others = plugin_function(path, "d9d_register_actors") != nullptr ||
                          plugin_function(path, "d9d_register_models") != nullptr;
  D9D_REQUIRE(
      path != this_program || enter != nullptr || has_others,
      "the job is of a program of its own, which has registered its pieces; call that program, or name a "
      "library with them in `plugins` instead of {}",
      path);
  D9D_REQUIRE(enter != nullptr || has_others,
              "the plugin {} has none of `extern \"C\" void d9d_register(d9d::Registry&)`, "
              "`d9d_register_actors(d9d::ActorRegistry&)` and `d9d_register_models(d9d::ModelRegistry&)`",
              path);
  require_same_headers(path);
  load_own_models(path);
  if (enter == nullptr) return;
  call_user(fmt::format("d9d_register of the plugin {}", path), ErrorInside::passes,
            [&] { enter(registry); });
}

}  // namespace d9d
