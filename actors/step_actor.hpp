#pragma once
// The base of a plugin's actors that follow training. It hears of every step and evaluation, and
// has a function for each request that an actor may make. job/own_actor.hpp registers such actors
// and has an example.

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
#include "runtime/task/task_records.hpp"
#include "runtime/text/text_request.hpp"

namespace d9d {

// A step of rank 0, after its sums over all ranks. The optimizer may still be at work.
struct StepDone {
  std::uint64_t number = 0;  // from 1
  // None: the update was skipped (trainer.non_finite_gradients, gradient hooks).
  std::optional<double> loss, grad_norm;
};

// An evaluation whose numbers are all known. The next step has not begun.
struct EvaluationDone {
  std::uint64_t step = 0;                 // training steps done before it
  std::optional<double> loss;             // none: no label counts
  std::map<std::string, double> metrics;  // of the task, by their names in evaluation/metrics
};

class StepActor : public Actor {
 public:
  explicit StepActor(World& world) : Actor(world) {}
  // Returns what the actor remembers, for the checkpoint. Called when the actor has heard of everything up
  // to the checkpoint's step. None: it keeps nothing. A resumed job passes the value to load_state()
  // before the actor starts. Infinity, NaN and texts that are not UTF-8 end the job at its start or at the first
  // checkpoint that would have them, because JSON cannot hold them: return null or a text instead.
  virtual std::optional<nlohmann::json> state() const;
  virtual void load_state(const nlohmann::json& /*state*/) {}
  // For the job, before the actor starts: ids of prompts are from 0 and below `size`. None: any id. Input error for a
  // prompt that was given before.
  void set_vocabulary(std::optional<std::int64_t> size);
  // What ask_for_texts() asks for now; no prompt: nothing was set.
  const TextRequest& texts_asked_for() const { return request_; }
  void behavior(Handlers& handlers) final;
  void started() final;
  void event(wire::Event::Reader message);
  void texts_generated(wire::TextsGenerated::Reader message);
  void keep_state(wire::KeepState::Reader message);

 protected:
  virtual void step_done(const StepDone& /*step*/) {}
  virtual void evaluation_done(const EvaluationDone& /*evaluation*/) {}
  // True: the sums of a step wait until this actor has returned from the step before and its evaluation.
  // Its requests then take effect at the same step in every run, and a slow actor makes the job slow.
  // False: they take effect at some later step.
  virtual bool decides() const { return false; }
  // The answer to ask_for_texts(): the model's continuation of each prompt, made after `step` steps.
  virtual void texts_came(std::uint64_t /*step*/, const std::vector<std::string>& /*texts*/) {}

  // Has the job restore the newest checkpoint that is older than step `before`, and go on with
  // the data that follow. Input error for step 0.
  void roll_back(std::uint64_t before);
  // Has the job end well after the step that is being computed: with a checkpoint, `export_to` and exit
  // code 0. Log, report and run.jsonl show `reason`. A further start trains only if
  // trainer.checkpointing.resume_ended is set.
  void end_job(const std::string& reason);
  // Multiplies the scheduled learning rate by `factor`, from the step after the one that is being computed,
  // also after a resume and a roll back. Input error when `factor` is less than 0 or not finite.
  void set_lr_factor(double factor);
  // Sets what ask_for_texts() asks for. `tokenizer`: a tokenizer.json or .model; none: a text is its token
  // ids with spaces between. `temperature` is that of the logits; 0: the most likely token. Input error for
  // a prompt that is no text of the tokenizer, or that holds an id which the model has not. `d9d-node check` counts the
  // memory of the texts if they are set in prepare() (job/own_actor.hpp) or in the constructor, and else says that it
  // does not.
  void set_prompts(const std::vector<std::string>& prompts, const std::optional<std::string>& tokenizer,
                   std::int64_t max_new_tokens, double temperature = 0);
  // Has the model continue the prompts after the step that is being computed. Training waits meanwhile, and
  // its numbers stay the same.
  void ask_for_texts();
  // Sends a value to the run's trackers. When the job itself has a number of that name ("loss"), the
  // actor's name goes before it: "guard/loss". `context`: what sets the value apart, {{"subset", "validation"}}.
  void show(std::uint64_t step, const std::string& name, const std::string& text,
            const PointContext& context = {});
  void show(std::uint64_t step, const std::string& name, double number, const PointContext& context = {});

 private:
  std::optional<nlohmann::json> checked_state() const;
  void ask_to_hear(const char* event, bool keeps_state);
  void require_known_ids() const;
  void tell_record(const TaskRecord& record);

  std::uint64_t events_ = 0;  // how many Events of steps and evaluations were handled
  TextRequest request_;
  std::optional<TextOrIds> texts_;
  std::optional<std::int64_t> vocabulary_;
};

}  // namespace d9d
