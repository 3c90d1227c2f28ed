#pragma once
// How long a sequence may be before its positions are beyond what the model is made for. No torch.

#include <cstdint>

#include "runtime/family/family_model.hpp"

namespace d9d {

// max_position_embeddings, and with RoPE scaling what it stretches to: factor x the pretrained length, which
// is max_position_embeddings (linear, dynamic) or original_max_position_embeddings (others, if that is more).
std::int64_t position_limit(const FamilyModel& config);

// Input error unless `length` tokens fit; `what` leads the text ("the prompt with the new tokens").
void require_positions(const FamilyModel& config, std::int64_t length, const char* what, const char* remedy);

}  // namespace d9d
