#pragma once
// The commands that run something: a job, a model.

#include "actors/cli_args.hpp"

namespace d9d {

Command run_command();
Command score_command();
Command generate_command();

}  // namespace d9d
