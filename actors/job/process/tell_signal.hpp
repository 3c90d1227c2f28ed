#pragma once
// Says Signalled to the Node of this process. Any thread that is not an actor's. Does nothing when the job
// is over.

#include "actors/core/world.hpp"

namespace d9d {

void tell_signal(World& world, ActorId root, int signal, bool now);

}  // namespace d9d
