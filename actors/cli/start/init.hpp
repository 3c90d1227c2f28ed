#pragma once
// d9d-node init: a first job file.

#include "actors/cli/arguments.hpp"
#include "actors/cli/start/model_size.hpp"

namespace d9d {

// `host`: what the job may take (the command line's: all of this host).
Command init_command(const HostRoom& host);
HostRoom this_host();

}  // namespace d9d
