#pragma once
// How the end of a job is told to its user: the cause first, then where it happened, then what to do.

#include <string>

#include "messages/cluster.capnp.h"
#include "messages/common.capnp.h"

namespace d9d {

// "text/none.json: no such file. In the loader of rank 0, before the first step."
std::string failure_text(wire::Failed::Reader failed);

// What a new start will do. Empty: no checkpoint was committed.
std::string next_start_text(const std::string& last_checkpoint);

}  // namespace d9d
