#pragma once
// A plugin's pipeline schedule held against the job that names it.

#include "runtime/job/job_load.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

// Input error where the programs of a plugin's schedule, of which `schedule` has been made, cannot run the steps of
// this job: all checks of the built-in programs, for the mesh and the microbatches that the job has.
void require_own_schedule(const OwnSchedule& schedule, const LoadedJob& loaded, const StepPhases& phases);

}  // namespace d9d
