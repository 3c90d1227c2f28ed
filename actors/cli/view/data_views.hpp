#pragma once
// The views of `d9d-node data`: the samples of a job, the tokens of a text.

#include "actors/cli/arguments.hpp"

namespace d9d {

// peek JOB.yaml: prints the first samples of the job's data as tokens and text, and how fast
// a loader makes batches.
int peek_samples(const Arguments& arguments, Console& console);
// tokenize FILE_OR_FOLDER TEXT: prints the tokens of the text and their entries in the vocabulary.
int show_tokens(const Arguments& arguments, Console& console);

}  // namespace d9d
