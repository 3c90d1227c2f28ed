#include "actors/notes/text_messages.hpp"

#include "messages/lists.hpp"

namespace d9d {
namespace {

// What both requests have.
void fill(auto message, const TextRequest& request) {
  auto prompts = message.initPrompts(static_cast<unsigned>(request.prompts.size()));
  for (unsigned i = 0; i < prompts.size(); ++i)
    fill_list(prompts[i].initIds(static_cast<unsigned>(request.prompts[i].size())), request.prompts[i]);
  message.setMaxNewTokens(static_cast<std::uint32_t>(request.options.max_new_tokens));
  message.setTemperature(request.options.temperature);
  message.setTopP(request.options.top_p);
  message.setSeed(request.options.seed);
  fill_list(message.initEnds(static_cast<unsigned>(request.options.ends.size())), request.options.ends);
}

TextRequest read(auto message) {
  TextRequest request;
  for (const auto prompt : message.getPrompts())
    request.prompts.push_back(to_vector<std::int64_t>(prompt.getIds()));
  request.options.max_new_tokens = message.getMaxNewTokens();
  request.options.temperature = message.getTemperature();
  request.options.top_p = message.getTopP();
  request.options.seed = message.getSeed();
  request.options.ends = to_vector<std::int64_t>(message.getEnds());
  return request;
}

}  // namespace

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request) {
  fill(message, request);
}

TextRequest text_request_of(wire::GenerateTexts::Reader message) {
  return read(message);
}

void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts) {
  auto list = message.initTexts(static_cast<unsigned>(texts.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    fill_list(list[i].initIds(static_cast<unsigned>(texts[i].ids.size())), texts[i].ids);
}

void fill_rollouts(wire::WriteRollouts::Builder message, const TextRequest& request) {
  fill(message, request);
  message.setFirst(request.first);
}

TextRequest text_request_of(wire::WriteRollouts::Reader message) {
  TextRequest request = read(message);
  request.first = message.getFirst();
  request.of_replica = true;
  request.options.log_probs = true;
  return request;
}

void fill_texts(wire::RolloutsWritten::Builder message, const Texts& texts) {
  auto list = message.initTexts(static_cast<unsigned>(texts.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    fill_list(list[i].initIds(static_cast<unsigned>(texts[i].ids.size())), texts[i].ids);
    fill_list(list[i].initLogProbs(static_cast<unsigned>(texts[i].log_probs.size())), texts[i].log_probs);
  }
}

Texts texts_of(wire::RolloutsWritten::Reader message) {
  Texts texts;
  for (const auto text : message.getTexts())
    texts.push_back({to_vector<std::int64_t>(text.getIds()), to_vector<float>(text.getLogProbs())});
  return texts;
}

}  // namespace d9d
