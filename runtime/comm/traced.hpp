#pragma once
// A communicator whose waiting calls can be measured. send() does not wait and is not told.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// Runs `call` once, on the calling thread. `name`: operation and group, e.g. "all_to_all tp[0,1]". `bytes`:
// of the larger of what goes in and what comes out on this rank.
using AroundCollective =
    std::function<void(const std::string& name, std::uint64_t bytes, const std::function<void()>& call)>;

std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, AroundCollective around);

}  // namespace d9d
