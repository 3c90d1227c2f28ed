#pragma once
// The program of an update with forward phases (step_phases.hpp): first their forwards, then the schedule's
// program of the other microbatches. Kept from step to step.

#include <memory>
#include <utility>

#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class PhaseProgram {
 public:
  // `trained`: the program of the microbatches after the first `forwards` ones.
  std::shared_ptr<const PipelineProgram> get(std::shared_ptr<const PipelineProgram> trained, int forwards) {
    if (forwards == 0) return trained;
    if (trained_ != trained || forwards_ != forwards) {
      whole_ = behind_forwards(*trained, forwards);
      trained_ = std::move(trained);
      forwards_ = forwards;
    }
    return whole_;
  }

 private:
  std::shared_ptr<const PipelineProgram> trained_, whole_;
  int forwards_ = 0;
};

}  // namespace d9d
