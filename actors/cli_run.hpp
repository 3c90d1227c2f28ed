#pragma once
// The commands that run something: a job, a model.

#include <string>

#include "actors/cli_args.hpp"

namespace d9d {

// `build` is what the process tells the others it was built from; see build_id().
Command run_command(const std::string& build);
Command score_command();
Command generate_command();

}  // namespace d9d
