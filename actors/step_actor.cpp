#include "actors/step_actor.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/notes/recorded_value.hpp"
#include "actors/notes/text_messages.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/lists.hpp"
#include "messages/metrics.capnp.h"
#include "runtime/base/held_json.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

constexpr const char* step_event = "train.step.post";
constexpr const char* evaluation_event = "train.evaluation.post";

// JSON has no infinities and no NaN; null stands for them.
std::optional<double> number_in(const nlohmann::json& context, const char* key) {
  const auto found = context.find(key);
  if (found == context.end()) return std::nullopt;
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

StepDone step_in(std::uint64_t number, const nlohmann::json& context) {
  StepDone step{.number = number};
  if (context.contains("skipped")) return step;
  step.loss = number_in(context, "loss");
  step.grad_norm = number_in(context, "grad_norm");
  return step;
}

EvaluationDone evaluation_in(std::uint64_t step, const nlohmann::json& context) {
  EvaluationDone evaluation{.step = step};
  if (context.at("loss").is_number()) evaluation.loss = context.at("loss").get<double>();
  const nlohmann::json metrics = context.value("metrics", nlohmann::json::object());
  for (const auto& [name, value] : metrics.items()) {
    if (value.is_number()) evaluation.metrics[name] = value.get<double>();
  }
  return evaluation;
}

}  // namespace

std::optional<nlohmann::json> StepActor::state() const {
  return std::nullopt;
}

void StepActor::behavior(Handlers& handlers) {
  handlers.on(this, &StepActor::event);
  handlers.on(this, &StepActor::texts_generated);
  handlers.on(this, &StepActor::keep_state);
}

void StepActor::started() {
  const bool keeps_state = checked_state().has_value();
  ask_to_hear(step_event, keeps_state);
  ask_to_hear(evaluation_event, keeps_state);
}

// The host names the actor in what is thrown.
std::optional<nlohmann::json> StepActor::checked_state() const {
  const Calling call("state()");
  std::optional<nlohmann::json> kept = state();
  if (kept) require_json_holds(*kept, "its state()");
  return kept;
}

void StepActor::ask_to_hear(const char* event, bool keeps_state) {
  tell<wire::Subscribe>({Role::event_bus, 0}, [&](wire::Subscribe::Builder message) {
    message.setName(event);
    message.setDecides(decides());
    message.setKeepsState(keeps_state);
  });
}

void StepActor::event(wire::Event::Reader message) {
  set_step(message.getStep());
  const nlohmann::json context = parse_json<nlohmann::json>(message.getContext().cStr());
  if (std::string_view(message.getName().cStr()) == evaluation_event) {
    evaluation_done(evaluation_in(message.getStep(), context));
  } else {
    step_done(step_in(message.getStep(), context));
  }
  ++events_;
  if (!decides()) return;
  tell<wire::EventsFollowed>({Role::trainer, 0},
                             [&](wire::EventsFollowed::Builder followed) { followed.setEvents(events_); });
}

void StepActor::keep_state(wire::KeepState::Reader message) {
  const std::optional<nlohmann::json> kept = checked_state();
  tell<wire::StateKept>({Role::trainer, 0}, [&](wire::StateKept::Builder answer) {
    answer.setStep(message.getStep());
    answer.setActor(self().packed());
    answer.setState(json_text(kept.value_or(nullptr)));
  });
}

void StepActor::texts_generated(wire::TextsGenerated::Reader message) {
  std::vector<std::string> texts;
  for (const auto text : message.getTexts()) {
    // The prompts may have changed since the request, to fewer ones.
    const std::size_t at = texts.size();
    const auto prompt = at < request_.prompts.size() ? request_.prompts[at] : std::vector<std::int64_t>();
    texts.push_back(texts_.value().text_behind(prompt, to_vector<std::int64_t>(text.getIds())));
  }
  texts_came(message.getStep(), texts);
}

void StepActor::roll_back(std::uint64_t before) {
  D9D_REQUIRE(before >= 1, "roll_back(0): steps count from 1; give the step that went wrong");
  tell<wire::RollBack>({Role::trainer, 0}, [&](wire::RollBack::Builder ask) { ask.setBefore(before); });
}

void StepActor::end_job(const std::string& reason) {
  tell<wire::EndJob>({Role::trainer, 0}, [&](wire::EndJob::Builder ask) { ask.setReason(reason); });
}

void StepActor::set_lr_factor(double factor) {
  D9D_REQUIRE(std::isfinite(factor) && factor >= 0, "a learning rate times {}; give a number of at least 0",
              factor);
  tell<wire::ScaleLearningRate>({Role::trainer, 0},
                                [&](wire::ScaleLearningRate::Builder ask) { ask.setFactor(factor); });
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
  require_known_ids();
  request_.options.max_new_tokens = max_new_tokens;
  request_.options.temperature = temperature;
}

void StepActor::set_vocabulary(std::optional<std::int64_t> size) {
  vocabulary_ = size;
  require_known_ids();
}

void StepActor::require_known_ids() const {
  for (std::size_t i = 0; i < request_.prompts.size(); ++i) {
    for (const std::int64_t id : request_.prompts[i]) {
      D9D_REQUIRE(id >= 0 && (!vocabulary_ || id < *vocabulary_),
                  "prompt {} of set_prompts() holds the token {}; expected at least 0{}", i, id,
                  vocabulary_ ? fmt::format(" and less than {}, the model's vocabulary", *vocabulary_) : "");
    }
  }
}

void StepActor::ask_for_texts() {
  D9D_REQUIRE(!request_.prompts.empty(),
              "texts are asked for without a prompt; give `prompts`, see set_prompts()");
  tell<wire::GenerateTexts>({Role::trainer, 0},
                            [&](wire::GenerateTexts::Builder ask) { fill_request(ask, request_); });
}

void StepActor::show(std::uint64_t step, const std::string& name, const std::string& text,
                     const PointContext& context) {
  tell_record({step, name, TextRecord{text}, context});
}

void StepActor::show(std::uint64_t step, const std::string& name, double number,
                     const PointContext& context) {
  tell_record({step, name, number, context});
}

void StepActor::tell_record(const TaskRecord& record) {
  tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) { fill(value, record); });
}

}  // namespace d9d
