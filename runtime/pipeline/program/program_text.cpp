#include "runtime/pipeline/program/program_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

RankProgram parse_rank(std::string_view line) {
  if (line.starts_with("rank ")) line.remove_prefix(std::min(line.size(), line.find(':') + 1));
  RankProgram program;
  std::istringstream words{std::string(line)};
  for (std::string word; words >> word;) {
    Instruction instruction = parse_instruction(word);
    std::erase_if(instruction.parts, [](const Action& action) { return !is_compute(action.kind); });
    if (!instruction.parts.empty()) program.push_back(std::move(instruction));
  }
  return program;
}

struct Extent {
  int stages = 0;
  int microbatches = 0;
};

Extent extent_of(const Program& program) {
  Extent extent;
  for (const RankProgram& rank : program) {
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) {
        extent.stages = std::max(extent.stages, action.stage + 1);
        extent.microbatches = std::max(extent.microbatches, action.microbatch + 1);
      }
    }
  }
  return extent;
}

bool fits(const Program& program, const Topology& topology) {
  for (std::size_t rank = 0; rank < program.size(); ++rank) {
    for (const Instruction& instruction : program[rank]) {
      for (const Action& action : instruction.parts) {
        if (topology.rank_of(action.stage) != static_cast<int>(rank)) return false;
      }
    }
  }
  return true;
}

Topology topology_of(const Program& program, int stages) {
  const int ranks = static_cast<int>(program.size());
  const Topology loop(TopologyKind::loop, ranks, stages);
  if (fits(program, loop)) return loop;
  D9D_REQUIRE(
      stages % ranks == 0 && fits(program, Topology(TopologyKind::v, ranks, stages)),
      "the program's {} stages lie on its {} ranks neither as a loop (stage i on rank i mod {}) nor as a v",
      stages, ranks, ranks);
  return {TopologyKind::v, ranks, stages};
}

double parse_cost(const std::string& text, std::string_view all) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  D9D_REQUIRE(
      !text.empty() && *end == '\0' && is_time(value),
      "\"{}\" in \"{}\" is no time; expected F:I:W or F:I:W:B, e.g. 1:1:0.8, for all stages or, parted by "
      "commas, for each",
      text, all);
  return value;
}

StageCosts parse_stage_costs(const std::string& text, std::string_view all) {
  std::vector<double> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ':');) values.push_back(parse_cost(part, all));
  D9D_REQUIRE(values.size() == 3 || values.size() == 4, "\"{}\" has {} times; expected F:I:W or F:I:W:B",
              text, values.size());
  StageCosts costs{values[0], values[1], values[2]};
  if (values.size() == 4) costs.full_backward = values[3];
  return costs;
}

}  // namespace

PipelineProgram parse_program(std::string_view text, int forwards) {
  Program program;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with('#')) continue;
    program.push_back(parse_rank(line));
  }
  const Extent extent = extent_of(program);
  D9D_REQUIRE(extent.stages > 0, "the program is empty; expected a line of actions per pipeline rank");
  const Topology topology = topology_of(program, extent.stages);
  try {
    return complete_program(std::move(program), topology, extent.microbatches, forwards);
  } catch (const Error& error) {
    // The rules that are bugs in a builder are input errors here, and the place in
    // d9d's source does not help the user.
    std::string_view text = error.what();
    if (!error.where().empty()) text.remove_prefix(error.where().size() + 2);
    throw Error(ErrorKind::input, fmt::format("the program cannot run: {}", text));
  }
}

std::vector<StageCosts> parse_costs(std::string_view text, int num_stages) {
  std::vector<StageCosts> costs;
  std::istringstream stages{std::string(text)};
  for (std::string stage; std::getline(stages, stage, ',');) costs.push_back(parse_stage_costs(stage, text));
  if (costs.size() == 1) costs.resize(static_cast<std::size_t>(num_stages), costs[0]);
  D9D_REQUIRE(static_cast<int>(costs.size()) == num_stages,
              "costs of {} stages given for {}; give one for all or one for each", costs.size(), num_stages);
  return costs;
}

}  // namespace d9d
