#include "actors/notes/text_messages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "messages/lists.hpp"

namespace d9d {
namespace {

// What both requests have.
void fill(auto message, const TextRequest& request, std::span<const std::vector<std::int64_t>> given) {
  auto prompts = message.initPrompts(static_cast<unsigned>(given.size()));
  for (unsigned i = 0; i < prompts.size(); ++i)
    fill_list(prompts[i].initIds(static_cast<unsigned>(given[i].size())), given[i]);
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

template <class T>
void cut(std::span<const T> all, std::size_t tokens_max, const auto& tokens_of, const auto& tell) {
  do {
    std::size_t count = 0, tokens = 0;
    while (count < all.size() && (count == 0 || tokens + tokens_of(all[count]) <= tokens_max))
      tokens += tokens_of(all[count++]);
    tell(all.first(count), count < all.size());
    all = all.subspan(count);
  } while (!all.empty());
}

}  // namespace

void fill_request(wire::GenerateTexts::Builder message, const TextRequest& request) {
  fill(message, request, request.prompts);
}

TextRequest text_request_of(wire::GenerateTexts::Reader message) {
  return read(message);
}

void fill_texts(wire::TextsGenerated::Builder message, const Texts& texts) {
  auto list = message.initTexts(static_cast<unsigned>(texts.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    fill_list(list[i].initIds(static_cast<unsigned>(texts[i].ids.size())), texts[i].ids);
}

void fill_rollouts(wire::WriteRollouts::Builder message, const TextRequest& request,
                   std::span<const std::vector<std::int64_t>> prompts) {
  fill(message, request, prompts);
  message.setFirst(request.first);
}

TextRequest text_request_of(wire::WriteRollouts::Reader message) {
  TextRequest request = read(message);
  request.first = message.getFirst();
  request.of_replica = true;
  request.options.log_probs = true;
  return request;
}

void fill_texts(wire::RolloutsWritten::Builder message, std::span<const WrittenText> texts) {
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

void in_parts(const TextRequest& request,
              const std::function<void(std::span<const std::vector<std::int64_t>> prompts, bool more)>& tell,
              std::size_t tokens_max) {
  cut<std::vector<std::int64_t>>(
      request.prompts, tokens_max, [](const auto& prompt) { return prompt.size(); }, tell);
}

void in_parts(const Texts& texts,
              const std::function<void(std::span<const WrittenText> part, bool more)>& tell,
              std::size_t tokens_max) {
  cut<WrittenText>(
      texts, tokens_max, [](const WrittenText& text) { return text.ids.size(); }, tell);
}

std::optional<TextRequest> joined(std::optional<TextRequest>& before, wire::WriteRollouts::Reader message) {
  TextRequest part = text_request_of(message);
  if (before) {
    std::ranges::move(part.prompts, std::back_inserter(before->prompts));
  } else {
    before = std::move(part);
  }
  return message.getMore() ? std::nullopt : std::exchange(before, std::nullopt);
}

std::optional<Texts> joined(Texts& before, wire::RolloutsWritten::Reader message) {
  std::ranges::move(texts_of(message), std::back_inserter(before));
  if (message.getMore()) return std::nullopt;
  return std::exchange(before, {});
}

}  // namespace d9d
