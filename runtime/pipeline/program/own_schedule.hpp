#pragma once
// A pipeline schedule that a plugin registers (Registry::add_schedule). Its programs are checked
// (check_program.hpp) and completed with transfers (communication.hpp) like the built-in ones.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/base/config/section.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

struct PipelineSchedule {
  // Builds the compute actions alone, a program for each of `ranks` (size of the pp axis), for any number of
  // microbatches from 1 on. Must be a pure function, because every rank builds all programs. Throw an input
  // error for numbers that the schedule does not support.
  std::function<Program(int ranks, int microbatches)> build;
  // There are ranks x stages_per_rank stages; `topology` says on which rank each runs.
  int stages_per_rank = 1;
  TopologyKind topology = TopologyKind::loop;
};

// The choice `schedule: x` of a plugin's schedule x, with the keys that x declares.
struct OwnSchedule : config::Named {
  static constexpr const char *name_under = "schedule", *called = "section of a plugin's schedule";
  // Not inline: if GCC 12 sees how the string is copied, it warns of other alternatives of the variant.
  OwnSchedule();
  OwnSchedule(const OwnSchedule& other);
  OwnSchedule& operator=(const OwnSchedule& other);
  ~OwnSchedule();

  std::shared_ptr<const PipelineSchedule> made = {};  // null until the plugin is loaded
};

// Builds the programs. Input error when the builder throws, or does not make one program per rank.
Program build_own(const OwnSchedule& schedule, int ranks, int microbatches);

// Returns the result of `call`. Its errors are the plugin's, so they become
// input errors that name the schedule.
template <class Call>
auto of_own(const OwnSchedule& schedule, Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    // Removes the place in d9d's source: it does not help the author of the schedule.
    std::string_view what = error.what();
    const auto* const ours = dynamic_cast<const Error*>(&error);
    if (ours != nullptr && !ours->where().empty() && what.starts_with(ours->where() + ": "))
      what.remove_prefix(ours->where().size() + 2);
    throw Error(ErrorKind::input,
                fmt::format("the schedule \"{}\" of a plugin makes no program that can run: {}",
                            schedule.name, shortened(what)));
  }
}

}  // namespace d9d
