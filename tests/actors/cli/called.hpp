#pragma once
// A command called in this process, as the command line would call it.

#include <sstream>
#include <string>
#include <vector>

#include "actors/cli/cli_main.hpp"
#include "tests/support/outcome.hpp"

namespace d9d::test {

inline Outcome run(const CommandLine& program, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const int code = cli_main(program, words, console);
  return {code, out.str(), err.str()};
}

inline Outcome call(const Command& command, std::vector<std::string> words) {
  words.insert(words.begin(), command.name);
  return run({"d9d-node", "0.1.0", {command}}, words);
}

}  // namespace d9d::test
