#pragma once
// Converts a request for texts to and from the messages between the asking actor, the
// Trainers and the RankExecutors.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "messages/texts.capnp.h"
#include "runtime/text/text_request.hpp"

namespace d9d {

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request);
TextRequest text_request_of(wire::GenerateTexts::Reader message);
void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts);

// A message has about so many tokens, because actors refuse larger ones (messages/decode.hpp); a prompt or a text is in
// one message.
constexpr std::size_t tokens_a_message = std::size_t{1} << 18;

// The request of a Loader, but for its steps: with the numbers of its texts, and their log-probabilities. `prompts`: a
// part of its prompts.
void fill_rollouts(wire::WriteRollouts::Builder message, const TextRequest& request,
                   std::span<const std::vector<std::int64_t>> prompts);
TextRequest text_request_of(wire::WriteRollouts::Reader message);
void fill_texts(wire::RolloutsWritten::Builder message, std::span<const WrittenText> texts);
Texts texts_of(wire::RolloutsWritten::Reader message);

// Calls tell(part, more) for each part, in order; once for nothing.
void in_parts(const TextRequest& request,
              const std::function<void(std::span<const std::vector<std::int64_t>> prompts, bool more)>& tell,
              std::size_t tokens_max = tokens_a_message);
void in_parts(const Texts& texts,
              const std::function<void(std::span<const WrittenText> part, bool more)>& tell,
              std::size_t tokens_max = tokens_a_message);

// What came in several messages. Collects parts; the last one returns the whole.
std::optional<TextRequest> joined(std::optional<TextRequest>& before, wire::WriteRollouts::Reader message);
std::optional<Texts> joined(Texts& before, wire::RolloutsWritten::Reader message);

}  // namespace d9d
