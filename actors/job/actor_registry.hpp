#pragma once
// Actors of users, by name. A plugin adds its own with
//   extern "C" void d9d_register_actors(d9d::ActorRegistry& registry);
// and the job file names them: `actors: [{name: spike_guard, limit: 3}]`.
// They live on node 0 as user/0, user/1, ... in the order of the list, and
// talk like all others: subscribe to events at the event bus, tell messages.

#include <functional>
#include <map>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/base/config/section.hpp"

namespace d9d {

class ActorRegistry {
 public:
  // `config`: the keys beside `name`; decode<T>(config) makes a described
  // struct of them. `d9d-node check` and the start of a run make one and drop
  // it, to find what is wrong with the keys: what acts belongs into started().
  using Make = std::function<std::unique_ptr<Actor>(World& world, const config::Section& config)>;

  // A name twice is an input error.
  void add(const std::string& name, Make make);
  // An unknown name is an input error that lists the names there are.
  const Make& find(const std::string& name) const;

 private:
  std::map<std::string, Make> makers_;
};

// Asks a loaded plugin for its actors; one that has none is fine.
void load_plugin_actors(const std::string& path, ActorRegistry& registry);

}  // namespace d9d
