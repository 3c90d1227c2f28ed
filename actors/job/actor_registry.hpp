#pragma once
// Actors of users, by name. A plugin adds its own with
//   extern "C" void d9d_register_actors(d9d::ActorRegistry& registry);
// and the job file names them: `actors: [{name: spike_guard, limit: 3}]`.
// They live on node 0 as user/0, user/1, ... in the order of the list, and
// talk like all others: subscribe to events at the event bus, tell messages.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/task/piece_context.hpp"

namespace d9d {

class ActorRegistry {
 public:
  // `config`: the keys beside `name`; decode<T>(config) makes a described struct of them. `d9d-node check`
  // and the start of a run also make an actor and drop it, to find what is wrong with its keys. So an actor
  // must not act before started().
  using Make = std::function<std::unique_ptr<Actor>(World& world, const config::Section& config)>;

  // A name twice is an input error. `make` may take a PieceContext as its third argument.
  void add(const std::string& name, Make make);
  template <class F>
  requires std::is_invocable_v<F, World&, const config::Section&, const PieceContext&>
  void add(const std::string& name, F make) {
    add(name, Make([context = context_, make = std::move(make)](World& world, const config::Section& config) {
          return make(world, config, *context);
        }));
  }
  // Sets the context that actors get that are made from now on.
  void set_context(PieceContext context) { *context_ = std::move(context); }
  // Input error with a list of the known names if the name is unknown.
  const Make& find(const std::string& name) const;

 private:
  std::map<std::string, Make> makers_;
  std::shared_ptr<PieceContext> context_ = std::make_shared<PieceContext>();
};

// Adds the actors of a loaded plugin, if it has any.
void load_plugin_actors(const std::string& path, ActorRegistry& registry);

}  // namespace d9d

// A plugin with actors defines it. Visible as d9d_register is (runtime/plugin/registry.hpp).
extern "C" __attribute__((visibility("default"))) void d9d_register_actors(d9d::ActorRegistry& registry);
