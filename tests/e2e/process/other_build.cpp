// d9d-node as somebody would have it who built it from other sources: only what it says about itself differs.
#include <iostream>

#include "actors/cli/cli_main.hpp"
#include "actors/cli/running_commands.hpp"

int main(int argc, char** argv) {
  const d9d::CommandLine program{.name = "d9d-node",
                                 .version = "0.0.9+other",
                                 .commands = {d9d::run_command("0.0.9+other", {}, [] { return 0U; })}};
  const std::vector<std::string> words(argv + 1, argv + argc);
  d9d::Console console{std::cout, std::cerr};
  return d9d::cli_main(program, words, console);
}
