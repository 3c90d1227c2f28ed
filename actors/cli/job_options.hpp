#pragma once
// Options and functions of all commands that read a job file.

#include <string>

#include "actors/cli/arguments.hpp"
#include "runtime/job/job_load.hpp"

namespace d9d {

OptionSpec set_option();    // --set KEY.PATH=VALUE
OptionSpec ranks_option();  // --ranks N, the same as --set node.ranks=N

// Loads the first positional word with the command line's changes; warnings go to console.err, one a line.
LoadedJob load_job(const Arguments& arguments, Console& console);
// The same for a text that was read already.
LoadedJob load_job(const Arguments& arguments, Console& console, const std::string& text);
// Reads the file of the first positional word; "-" is the standard input. Call it once, because it
// may be a pipe.
std::string job_text(const Arguments& arguments);

}  // namespace d9d
