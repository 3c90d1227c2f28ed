#pragma once
// A pipeline schedule that a plugin registers (Registry::add_schedule): what it has to say, and how its programs are
// taken. They get the checks of the built-in ones (check_program.hpp) and their transfers (communication.hpp).

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/config/section.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

struct PipelineSchedule {
  // The compute actions alone: a program for each of `ranks` (size of the pp axis), for any number of microbatches
  // from 1 on. A pure function, because every rank builds all programs. Input errors for other numbers.
  std::function<Program(int ranks, int microbatches)> build;
  // Stage i runs on the rank that this topology says, of ranks x stages_per_rank stages.
  int stages_per_rank = 1;
  TopologyKind topology = TopologyKind::loop;
};

// `schedule: x` and the keys that the plugin's schedule x declares.
struct OwnSchedule : config::Named {
  // Not inline, because GCC 12 warns of a variant's other alternatives where it sees how a string is copied.
  OwnSchedule();
  OwnSchedule(const OwnSchedule& other);
  OwnSchedule& operator=(const OwnSchedule& other);
  ~OwnSchedule();

  std::shared_ptr<const PipelineSchedule> made = {};  // null until the plugin is loaded
};

// Input errors: a builder that throws, or makes another number of programs than there are ranks.
Program build_own(const OwnSchedule& schedule, int ranks, int microbatches);

// What `call` returns; its errors are the plugin's and become input errors that name the schedule.
template <class Call>
auto of_own(const OwnSchedule& schedule, Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    // Where d9d found it is of no use to who wrote the schedule.
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
