#pragma once
// d9d-node init: writes a first job file.

#include "actors/cli/arguments.hpp"
#include "actors/cli/start/model_size.hpp"

namespace d9d {

// `host`: the cores and memory that the job may use; the program passes all of this host.
Command init_command(const HostRoom& host);
HostRoom this_host();

}  // namespace d9d
