#pragma once
// A request for texts as it travels from an actor over the Trainers to the RankExecutors.

#include <cstdint>

#include "messages/texts.capnp.h"
#include "runtime/text/text_request.hpp"

namespace d9d {

// In the place of the number of an evaluation (BeginStep.evaluation), behind all of those of a step.
inline constexpr std::uint32_t first_texts_evaluation = std::uint32_t{1} << 31;

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::GenerateTexts::Reader message);
void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts);

}  // namespace d9d
