#pragma once
// `completion` and `man`: what a shell completes, and the manual page, made of the texts that --help shows.

#include <memory>
#include <string>

#include "actors/cli/cli_main.hpp"

namespace d9d {

// Adds both commands. They tell of all commands, of themselves too.
void add_manual(CommandLine& program);

Command completion_command(std::shared_ptr<const CommandLine> program);
Command man_command(std::shared_ptr<const CommandLine> program);

// `shell`: "bash", "zsh" or "fish".
std::string completion_of(const CommandLine& program, const std::string& shell);
// For troff, with the macros of `man`.
std::string man_page_of(const CommandLine& program);

}  // namespace d9d
