#pragma once
// What happened to a connection, in words that a reader of the log understands.

#include <caf/error.hpp>

#include <chrono>
#include <string>

namespace d9d {

// Why a watched peer counts as gone, to follow its name: "closed the connection ...". CAF
// gives the same reason for a connection that was closed and for a peer that fell silent;
// `silent` is how long nothing was heard of it, and after `patience` it was given up.
std::string why_gone(const caf::error& reason, std::chrono::nanoseconds silent,
                     std::chrono::nanoseconds patience);

// Why a dialled address gave no peer.
std::string why_unreachable(const caf::error& reason);

}  // namespace d9d
