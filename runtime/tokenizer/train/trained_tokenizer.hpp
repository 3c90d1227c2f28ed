#pragma once
// The file of a trained tokenizer.

#include <string>
#include <vector>

#include "runtime/tokenizer/train/bpe_trainer.hpp"

namespace d9d {

// Writes a tokenizer.json as the `tokenizers` library saves it, byte for byte: BPE, ByteLevel
// without a space in front, special tokens that are found wherever they stand.
std::string tokenizer_json(const TrainedBpe& trained, const std::vector<std::string>& special_tokens);

}  // namespace d9d
