#pragma once
// Finds the command that a command line means, runs it, and turns its errors into exit codes.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "actors/cli/arguments.hpp"

namespace d9d {

struct CommandLine {
  std::string name;               // "d9d-node"
  std::string version;            // what --version prints after the name
  std::vector<Command> commands;  // the first one is run when the first word names none
  // What --cmake-prefix prints: where the CMake package `d9d` is. Throws if the program is not installed.
  std::function<std::string()> cmake_prefix = {};
};

// `words`: the command line without the program's name. Exit codes: 0 done, 2 bad usage or config (any
// ErrorKind::input), 1 anything else. Errors go to console.err as "d9d-node: error: ...".
int cli_main(const CommandLine& program, std::span<const std::string> words, Console& console);
// In a handler: writes what was thrown in this form, and returns its exit code.
int report_exception(const std::string& program, std::ostream& err);

}  // namespace d9d
