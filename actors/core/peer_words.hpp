#pragma once
// Explains what happened to a connection, in words for the log.

#include <caf/error.hpp>

#include <chrono>
#include <string>

namespace d9d {

// Why a watched peer counts as gone, as text to follow its name: "closed the connection ...". CAF gives the
// same reason for a connection that was closed and for a silent peer. `silent` is how long the peer was not
// heard, and `patience` is the silence after which it is given up.
std::string why_gone(const caf::error& reason, std::chrono::nanoseconds silent,
                     std::chrono::nanoseconds patience);

// Why dialling an address led to no peer.
std::string why_unreachable(const caf::error& reason);

}  // namespace d9d
