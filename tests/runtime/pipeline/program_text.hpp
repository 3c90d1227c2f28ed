#pragma once
// Programs as text for tests: "0F0 0SEND_F0 0F3|3B1".

#include <sstream>
#include <string>

#include "runtime/pipeline/action.hpp"

namespace d9d::test {

inline RankProgram rank_program(const std::string& text) {
  std::istringstream words(text);
  RankProgram program;
  for (std::string word; words >> word;) program.push_back(parse_instruction(word));
  return program;
}

inline std::string text_of(const RankProgram& program) {
  std::string text;
  for (const Instruction& instruction : program) text += (text.empty() ? "" : " ") + to_string(instruction);
  return text;
}

}  // namespace d9d::test
