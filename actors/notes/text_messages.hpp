#pragma once
// Converts a request for texts to and from the messages between the asking actor, the
// Trainers and the RankExecutors.

#include "messages/texts.capnp.h"
#include "runtime/text/text_request.hpp"

namespace d9d {

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::GenerateTexts::Reader message);
void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts);

// The request of a Loader, but for its steps: with the numbers of its texts, and their log-probabilities.
void fill_rollouts(wire::WriteRollouts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::WriteRollouts::Reader message);
void fill_texts(wire::RolloutsWritten::Builder message, const Texts& texts);
Texts texts_of(wire::RolloutsWritten::Reader message);

}  // namespace d9d
