#pragma once
// The remedy in errors of jobs that cannot continue from their checkpoint.

#include <string>

namespace d9d {

// Returns a sentence on how to train on from the weights of `checkpoint` alone, and how to begin anew.
inline std::string ways_to_begin_anew(const std::string& checkpoint) {
  return "To train another way from its weights, make a model's folder of it (d9d-node export " + checkpoint +
         " FOLDER) and start under another run name with trainer.model_stage_factory.source_checkpoint: "
         "FOLDER; to begin at step 1, start with --fresh";
}

}  // namespace d9d
