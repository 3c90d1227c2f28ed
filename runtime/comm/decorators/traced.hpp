#pragma once
// A communicator whose calls are measured, but for send() and wait().

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/trace_hook.hpp"

namespace d9d {

// Reports the larger of the bytes that go in and the bytes that come out on this rank.
std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, TraceHook hook);

}  // namespace d9d
