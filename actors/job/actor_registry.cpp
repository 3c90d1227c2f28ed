#include "actors/job/actor_registry.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/users_library.hpp"
#include "runtime/plugin/registry.hpp"

namespace d9d {

void ActorRegistry::add(const std::string& name, Make make) {
  D9D_REQUIRE(!name.empty(), "an actor is registered under an empty name; a job file could not name it");
  D9D_REQUIRE(makers_.emplace(name, std::move(make)).second, "the actor \"{}\" is registered twice", name);
}

const ActorRegistry::Make& ActorRegistry::find(const std::string& name) const {
  const auto found = makers_.find(name);
  if (found != makers_.end()) return found->second;
  std::string known;
  for (const auto& [key, make] : makers_) known += (known.empty() ? "" : ", ") + key;
  throw Error(ErrorKind::input,
              fmt::format("actors: no actor is called \"{}\"; there are: {}. One of your own comes "
                          "from a library named in `plugins`",
                          name, known.empty() ? "none" : known));
}

void load_plugin_actors(const std::string& path, ActorRegistry& registry) {
  using Register = void (*)(ActorRegistry&);
  if (auto enter = reinterpret_cast<Register>(plugin_function(path, "d9d_register_actors"))) enter(registry);
}

}  // namespace d9d
