#pragma once
// The text with which a job ends, for its user: first the cause, then where it happened, then what to do.

#include <string>

#include "messages/cluster.capnp.h"
#include "messages/common.capnp.h"

namespace d9d {

// "text/none.json: no such file. In the loader of rank 0, before the first step."
std::string failure_text(wire::Failed::Reader failed);

// Says what a new start of the job will do. `last_checkpoint` empty: none was committed.
std::string next_start_text(const std::string& last_checkpoint);

}  // namespace d9d
