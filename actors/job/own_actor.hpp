#pragma once
// An actor of a plugin by its class; its described members are the keys (runtime/plugin/own_piece.hpp):
//   struct Guard final : StepActor {
//     using StepActor::StepActor;
//     double limit = 3;
//     void step_done(const StepDone& step) override { if (...) roll_back(step.number); }
//   };
//   BOOST_DESCRIBE_STRUCT(Guard, (), (limit))
//   add_actor<Guard>(registry, "guard");       // in d9d_register_actors

#include "actors/core/activity.hpp"
#include "actors/job/actor_registry.hpp"
#include "actors/step_actor.hpp"
#include "runtime/plugin/own_piece.hpp"

namespace d9d {

// Adds the actor Made(World&), which `actors: [{name: NAME, ...}]` asks for. If it has a function
// prepare(), that is called when its keys are read, also by `d9d-node check`.
template <class Made>
void add_actor(ActorRegistry& registry, const std::string& name) {
  registry.add(name, [](World& world, const config::Section& section) -> std::unique_ptr<Actor> {
    auto made = std::make_unique<Made>(world);
    own::read_keys(*made, section);
    if constexpr (requires { made->prepare(); }) {
      const Calling call("prepare()");
      made->prepare();
    }
    return made;
  });
}

}  // namespace d9d
