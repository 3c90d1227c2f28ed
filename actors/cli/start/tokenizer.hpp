#pragma once
// d9d-node tokenizer: trains a tokenizer on texts.

#include "actors/cli/arguments.hpp"
#include "actors/cli/start/training_text.hpp"
#include "runtime/tokenizer/train/bpe_trainer.hpp"

namespace d9d {

inline constexpr const char* end_of_text = "<|endoftext|>";

Command tokenizer_command();

// The largest vocabulary that may be asked for.
constexpr std::int64_t vocab_size_max = 1'000'000;

// Input error if `path` exists: the commands never overwrite anything.
void require_new(const std::string& path);

}  // namespace d9d
