#include "runtime/job/reading/own_models.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/users_library.hpp"
#include "runtime/family/families.hpp"

namespace d9d {

void ModelRegistry::add_family(std::unique_ptr<const Family> family) {
  d9d::add_family(std::move(family), origin_);
}

void ModelRegistry::add_adapter_method(const std::string& name, MakePeftMethod make) {
  add_peft_method(name, std::move(make), origin_);
}

void load_own_models(const std::string& path) {
  if (open_users_library(path) == nullptr) return;
  using Register = void (*)(ModelRegistry&);
  const auto enter = reinterpret_cast<Register>(plugin_function(path, "d9d_register_models"));
  if (enter == nullptr) return;
  require_same_headers(path);
  // The function's address tells whether the library has been here, under whatever path.
  if (!is_first_call(reinterpret_cast<const void*>(enter))) return;
  ModelRegistry registry(fmt::format("the plugin {}", path));
  try {
    enter(registry);
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw Error(ErrorKind::environment, fmt::format("d9d_register_models of the plugin {} threw: {}", path,
                                                    describe_current_exception().what));
  }
}

}  // namespace d9d
