#pragma once
// `trainer.pipelining.schedule` of a plugin: how it is read, and what it must serve.

#include "runtime/base/config/section.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

class StepPhases;
struct LoadedJob;

template <>
struct config::Codec<OwnSchedule> {
  static std::string type() { return "section of a plugin's schedule"; }
  static bool read(OwnSchedule& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const OwnSchedule& schedule);
  static void tables(Reference& reference, const std::string& path, const OwnSchedule&);
};

// Input error where the programs of a plugin's schedule, of which `schedule` has been made, cannot run the steps of
// this job: all checks of the built-in programs, for the mesh and the microbatches that the job has.
void require_own_schedule(const OwnSchedule& schedule, const LoadedJob& loaded, const StepPhases& phases);

}  // namespace d9d
