#pragma once
// A communicator whose waiting calls can be measured. send() does not wait and is not told.

#include <memory>

#include "runtime/comm/around_work.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {

// The bytes are those of the larger of what goes in and what comes out on this rank.
std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, AroundWork around);

}  // namespace d9d
