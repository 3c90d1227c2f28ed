#pragma once
// The commands that use tensors: a job, a model, a checkpoint.

#include <string>

#include "actors/cli_args.hpp"

namespace d9d {

// `build` is what the process tells the others it was built from; see build_id().
Command run_command(const std::string& build);
Command score_command();
Command generate_command();
Command export_command();

}  // namespace d9d
