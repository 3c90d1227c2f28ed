#pragma once
// A request for texts as it travels from an actor over the Trainers to the RankExecutors.

#include "messages/texts.capnp.h"
#include "runtime/text/text_request.hpp"

namespace d9d {

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::GenerateTexts::Reader message);
void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts);

}  // namespace d9d
