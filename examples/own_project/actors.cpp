// Two actors that follow training.
#include "actors/job/own_actor.hpp"

namespace mine {

// Has the job go back to its last checkpoint of before the loss jumps to `limit` times its running mean.
struct SpikeGuard final : d9d::StepActor {
  using StepActor::StepActor;
  double limit = 3, mean = 0;
  std::uint64_t quiet = 10;  // steps in which nothing is a spike
  void step_done(const d9d::StepDone& step) override {
    if (!step.loss) return;
    if (mean > 0 && *step.loss > limit * mean && step.number > quiet) return roll_back(step.number);
    mean = mean > 0 ? 0.9 * mean + 0.1 * *step.loss : *step.loss;
  }
};
BOOST_DESCRIBE_STRUCT(SpikeGuard, (), (limit, quiet))

// Every n steps it has the model go on with some prompts, and shows the texts. Without a tokenizer a text is its ids.
struct Sampler final : d9d::StepActor {
  using StepActor::StepActor;
  d9d::Count every = 100, tokens = 32;
  std::vector<std::string> prompts;
  std::optional<std::string> tokenizer;
  void prepare() { set_prompts(prompts, tokenizer, tokens); }
  void step_done(const d9d::StepDone& step) override {
    if (step.number % every == 0) ask_for_texts();
  }
  void texts_came(std::uint64_t step, const std::vector<std::string>& texts) override {
    for (std::size_t i = 0; i < texts.size(); ++i)
      show(step, "samples/" + std::to_string(i), prompts[i] + " | " + texts[i]);
  }
};
BOOST_DESCRIBE_STRUCT(Sampler, (), (every, tokens, prompts, tokenizer))

}  // namespace mine

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  d9d::add_actor<mine::SpikeGuard>(registry, "spike_guard");
  d9d::add_actor<mine::Sampler>(registry, "sampler");
}
