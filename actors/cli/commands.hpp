#pragma once
// The commands that only look: none of them starts an actor. Each is in <name>.cpp.

#include "actors/cli/arguments.hpp"

namespace d9d {

Command lr_command();
Command schedule_command();
Command trace_command();

}  // namespace d9d
