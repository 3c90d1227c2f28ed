#pragma once
// The views of `d9d-node data`: what a job's samples are, what a tokenizer makes of a text.

#include "actors/cli/arguments.hpp"

namespace d9d {

// peek JOB.yaml: the first samples of the job's data, tokens and text; how fast a loader makes batches of them.
int peek_samples(const Arguments& arguments, Console& console);
// tokenize FILE_OR_FOLDER TEXT: the tokens of the text and what they are in the vocabulary.
int show_tokens(const Arguments& arguments, Console& console);

}  // namespace d9d
