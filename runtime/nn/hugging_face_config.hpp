#pragma once
// config.json of Qwen3 and Qwen3-MoE as transformers 4 and 5 write it, to and from Qwen3Config. No torch.
//
// Read: rope_theta with rope_scaling, or rope_parameters; num_experts or num_local_experts; torch_dtype or
// dtype. Absent keys take the defaults of transformers 5.23. A setting that would change the numbers in a way
// this model does not compute (a sliding window in use, dropout, the router's auxiliary loss, other
// activations or RoPE types, quantised weights, another head) is an input error that names the key, the value
// and a remedy.

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/nn/qwen3_config.hpp"

namespace d9d {

// `path` is the file or the folder that holds config.json. Environment error when it cannot be read, input
// error when it is not JSON or not a model of ours.
Qwen3Config read_hugging_face_config(const std::filesystem::path& path);
// The same from text; `where` leads the errors.
Qwen3Config parse_hugging_face_config(std::string_view text, const std::string& where);

// A config.json that transformers 4 and 5 both read to this model: both spellings of what they name
// differently.
std::string format_hugging_face_config(const Qwen3Config& config);
// Writes `folder`/config.json; the folder must exist.
void write_hugging_face_config(const std::filesystem::path& folder, const Qwen3Config& config);

}  // namespace d9d
