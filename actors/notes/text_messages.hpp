#pragma once
// Converts a request for texts to and from the messages between the asking actor, the
// Trainers and the RankExecutors.

#include "messages/texts.capnp.h"
#include "runtime/text/text_request.hpp"

namespace d9d {

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::GenerateTexts::Reader message);
void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts);

}  // namespace d9d
