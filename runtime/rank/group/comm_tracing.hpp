#pragma once
// The three places at which a rank's communication is measured. No torch in this header.

#include "runtime/comm/trace_hook.hpp"

namespace d9d {

struct CommTracing {
  TraceHook background;  // jobs of the communication thread, which overlap with compute
  TraceHook stalls;      // times in which an action's compute waits for other ranks
  TraceHook in_compute;  // collectives that modules call inside an action, on the computing thread
};

}  // namespace d9d
