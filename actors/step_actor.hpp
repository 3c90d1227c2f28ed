#pragma once
// The base of a plugin's actors that follow training: it hears of every step, and asks for what an actor may ask for.
// job/own_actor.hpp has an example, and registers them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"
#include "messages/texts.capnp.h"
#include "runtime/base/log.hpp"
#include "runtime/data/text_or_ids.hpp"
#include "runtime/task/text_request.hpp"

namespace d9d {

// A step of rank 0, after its sums; the update may still be at work.
struct StepDone {
  std::uint64_t number = 0;  // from 1
  // None: the update was skipped (trainer.non_finite_gradients, gradient hooks).
  std::optional<double> loss, grad_norm;
};

class StepActor : public Actor {
 public:
  explicit StepActor(World& world) : Actor(world) {}
  void behavior(Handlers& handlers) final;
  void started() final;
  void event(wire::Event::Reader message);
  void texts_generated(wire::TextsGenerated::Reader message);

 protected:
  virtual void step_done(const StepDone& step) = 0;
  // The answer to ask_for_texts(), made after `step` steps: what the model adds to each prompt.
  virtual void texts_came(std::uint64_t /*step*/, const std::vector<std::string>& /*texts*/) {}

  // The job goes back to the newest checkpoint of before this step, and on with the data that follow.
  void roll_back(std::uint64_t before);
  // What ask_for_texts() asks for. `tokenizer`: a tokenizer.json or .model; null: a text is its token ids with spaces
  // between. `temperature`: of the logits; 0: the most likely token. Input error for what is no text of the tokenizer.
  void set_prompts(const std::vector<std::string>& prompts, const std::optional<std::string>& tokenizer,
                   std::int64_t max_new_tokens, double temperature = 0);
  // The model that trains goes on with the prompts after a step. Training waits meanwhile, its numbers stay the same.
  void ask_for_texts();
  // Among the run's trackers.
  void show(std::uint64_t step, const std::string& name, const std::string& text);
  void show(std::uint64_t step, const std::string& name, double number);

 private:
  TextRequest request_;
  std::optional<TextOrIds> texts_;
};

}  // namespace d9d
