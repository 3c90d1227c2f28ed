#pragma once
// Says Signalled to the Node of this process, from any thread that is no actor's. Nothing happens when the job is over.

#include "actors/core/world.hpp"

namespace d9d {

void tell_signal(World& world, ActorId root, int signal, bool now);

}  // namespace d9d
