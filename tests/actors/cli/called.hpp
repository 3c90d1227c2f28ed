#pragma once
// A command called in this process, as the command line would call it.

#include <sstream>
#include <string>
#include <vector>

#include "actors/cli/cli_main.hpp"

namespace d9d::test {

struct Called {
  int code = 0;
  std::string out;
  std::string err;
};

inline Called call(const Command& command, const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  std::vector<std::string> all{command.name};
  all.insert(all.end(), words.begin(), words.end());
  const int code = cli_main({"d9d-node", "0.1.0", {command}}, all, console);
  return {code, out.str(), err.str()};
}

}  // namespace d9d::test
