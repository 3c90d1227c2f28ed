#pragma once
// A communicator that reports its calls to a TraceHook, except send() and wait().

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/trace_hook.hpp"

namespace d9d {

// The bytes that are reported for a call are those of its input or of its output, whichever is larger.
std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, TraceHook hook);

}  // namespace d9d
