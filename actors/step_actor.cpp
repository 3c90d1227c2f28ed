#include "actors/step_actor.hpp"

#include <nlohmann/json.hpp>

#include "actors/text_messages.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/lists.hpp"
#include "messages/metrics.capnp.h"

namespace d9d {
namespace {

constexpr const char* step_event = "train.step.post";

// JSON has no infinities and no NaN: they are null.
std::optional<double> number_in(const nlohmann::json& context, const char* key) {
  const auto found = context.find(key);
  if (found == context.end()) return std::nullopt;
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void StepActor::behavior(Handlers& handlers) {
  handlers.on(this, &StepActor::event);
  handlers.on(this, &StepActor::texts_generated);
}

void StepActor::started() {
  tell<wire::Subscribe>({Role::event_bus, 0},
                        [](wire::Subscribe::Builder message) { message.setName(step_event); });
}

void StepActor::event(wire::Event::Reader message) {
  set_step(message.getStep());
  const nlohmann::json context = nlohmann::json::parse(message.getContext().cStr());
  StepDone step{.number = message.getStep()};
  if (!context.contains("skipped")) {
    step.loss = number_in(context, "loss");
    step.grad_norm = number_in(context, "grad_norm");
  }
  step_done(step);
}

void StepActor::texts_generated(wire::TextsGenerated::Reader message) {
  std::vector<std::string> texts;
  for (const auto text : message.getTexts()) {
    // Prompts may be others by now, and then fewer.
    const std::size_t at = texts.size();
    const auto prompt = at < request_.prompts.size() ? request_.prompts[at] : std::vector<std::int64_t>();
    texts.push_back(texts_.value().text_behind(prompt, to_vector<std::int64_t>(text.getIds())));
  }
  texts_came(message.getStep(), texts);
}

void StepActor::roll_back(std::uint64_t before) {
  tell<wire::RollBack>({Role::trainer, 0}, [&](wire::RollBack::Builder ask) { ask.setBefore(before); });
}

void StepActor::set_prompts(const std::vector<std::string>& prompts,
                            const std::optional<std::string>& tokenizer, std::int64_t max_new_tokens,
                            double temperature) {
  D9D_REQUIRE(temperature >= 0, "a temperature of {}; give 0 or more", temperature);
  D9D_REQUIRE(max_new_tokens >= 1, "texts of {} new tokens; give at least 1", max_new_tokens);
  texts_.emplace(tokenizer);
  request_.prompts.clear();
  for (const std::string& prompt : prompts) {
    request_.prompts.push_back(texts_->ids_of(prompt));
    D9D_REQUIRE(!request_.prompts.back().empty(), "the prompt \"{}\" has no token", prompt);
  }
  request_.options.max_new_tokens = max_new_tokens;
  request_.options.temperature = temperature;
}

void StepActor::ask_for_texts() {
  D9D_REQUIRE(!request_.prompts.empty(),
              "texts are asked for without a prompt; give `prompts`, see set_prompts()");
  tell<wire::GenerateTexts>({Role::trainer, 0},
                            [&](wire::GenerateTexts::Builder ask) { fill_request(ask, request_); });
}

void StepActor::show(std::uint64_t step, const std::string& name, const std::string& text) {
  tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
    value.setStep(step);
    value.setName(name);
    value.setText(text);
  });
}

void StepActor::show(std::uint64_t step, const std::string& name, double number) {
  tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
    value.setStep(step);
    value.setName(name);
    value.setNumber(number);
  });
}

}  // namespace d9d
