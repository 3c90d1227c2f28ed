#pragma once
// RoPE settings of a Hugging Face config.json: rope_theta and rope_scaling (transformers 4) or
// rope_parameters (transformers 5). Internal to runtime/family.

#include <nlohmann/json_fwd.hpp>

#include "runtime/family/json_reader.hpp"
#include "runtime/nn/block/rope_options.hpp"

namespace d9d {

// Precedence as in transformers 5.23: rope_scaling, when there, replaces rope_parameters; rope_theta inside
// wins over rope_theta outside; 10000 when neither is given.
enum class PartialRotary { refused, allowed };
RopeOptions read_rope(const JsonReader& in, std::int64_t max_position_embeddings,
                      double absent_theta = 10000.0, PartialRotary partial = PartialRotary::refused);
// Whether rope_scaling or rope_parameters say anything.
bool has_rope_settings(const JsonReader& in);
// partial_rotary_factor, in the RoPE settings or outside of them.
double read_rotary_share(const JsonReader& in, double absent);
// Input error that names the first impossible value; `where` leads the text.
void validate_rope(const RopeOptions& rope, std::int64_t head_dim, const std::string& where);
// Where rope_parameters differ by layer type (full_attention, sliding_attention): moves those of the full layers
// to the top, and the theta of the others to rope_local_base_freq, as transformers 4 has them. Where the others
// have more than a theta, all stays.
void flatten_rope(nlohmann::json& config);
// Adds rope_parameters, rope_theta and rope_scaling. transformers has no type ntk: writes the rope_theta that is the
// same for heads that turn in `head_dim` dimensions.
void write_rope(const RopeOptions& rope, std::int64_t head_dim, nlohmann::json& out);
// Adds partial_rotary_factor to them and outside of them.
void write_rotary_share(double share, nlohmann::json& out);

}  // namespace d9d
