#pragma once
// The base of a plugin's actors that follow training: it hears of every step and evaluation,
// and asks for what an actor may ask for.
// job/own_actor.hpp has an example, and registers them.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"
#include "messages/texts.capnp.h"
#include "runtime/base/log.hpp"
#include "runtime/data/text_or_ids.hpp"
#include "runtime/text/text_request.hpp"

namespace d9d {

// A step of rank 0, after its sums; the update may still be at work.
struct StepDone {
  std::uint64_t number = 0;  // from 1
  // None: the update was skipped (trainer.non_finite_gradients, gradient hooks).
  std::optional<double> loss, grad_norm;
};

// An evaluation, when all of its numbers are known. The next step has not begun.
struct EvaluationDone {
  std::uint64_t step = 0;                 // training steps done before it
  std::optional<double> loss;             // none: no label counts
  std::map<std::string, double> metrics;  // of the task, by their names in evaluation/metrics
};

class StepActor : public Actor {
 public:
  explicit StepActor(World& world) : Actor(world) {}
  // What the actor remembers, for checkpoints: as it is when it has heard of all up to the checkpoint's step. None: it
  // keeps nothing. A resumed job gives it to load_state(), before the actor starts.
  virtual std::optional<nlohmann::json> state() const;
  virtual void load_state(const nlohmann::json& /*state*/) {}
  void behavior(Handlers& handlers) final;
  void started() final;
  void event(wire::Event::Reader message);
  void texts_generated(wire::TextsGenerated::Reader message);
  void keep_state(wire::KeepState::Reader message);

 protected:
  virtual void step_done(const StepDone& /*step*/) {}
  virtual void evaluation_done(const EvaluationDone& /*evaluation*/) {}
  // True: the job adds up no step before this actor has returned from the one before and its evaluation. What it asks
  // for then takes effect at the same step in every run; a slow actor makes the job slow. False: at some later step.
  virtual bool decides() const { return false; }
  // The answer to ask_for_texts(), made after `step` steps: what the model adds to each prompt.
  virtual void texts_came(std::uint64_t /*step*/, const std::vector<std::string>& /*texts*/) {}

  // The job goes back to the newest checkpoint of before this step, and on with the data that follow.
  void roll_back(std::uint64_t before);
  // The job ends well after the step that is computed now: with a checkpoint, `export_to` and exit code 0. Log, report
  // and run.jsonl have the reason. A further start does not train on unless trainer.checkpointing.resume_ended is set.
  void end_job(const std::string& reason);
  // From the step after the one that is computed now on the learning rate is that of the schedule times `factor`, also
  // after a resume and a roll back. Input error for less than 0 and what is not finite.
  void set_lr_factor(double factor);
  // What ask_for_texts() asks for. `tokenizer`: a tokenizer.json or .model; null: a text is its token ids with spaces
  // between. `temperature`: of the logits; 0: the most likely token. Input error for what is no text of the tokenizer.
  void set_prompts(const std::vector<std::string>& prompts, const std::optional<std::string>& tokenizer,
                   std::int64_t max_new_tokens, double temperature = 0);
  // The model that trains goes on with the prompts after the step that is computed now. Training waits meanwhile, its
  // numbers stay the same.
  void ask_for_texts();
  // Among the run's trackers. A name of the job's own numbers ("loss") is put beside, under the actor's: "guard/loss".
  void show(std::uint64_t step, const std::string& name, const std::string& text);
  void show(std::uint64_t step, const std::string& name, double number);

 private:
  void ask_to_hear(const char* event);

  std::uint64_t events_ = 0;  // handled
  TextRequest request_;
  std::optional<TextOrIds> texts_;
};

}  // namespace d9d
