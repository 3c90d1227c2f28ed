// Three actors that follow training.
#include "actors/job/own_actor.hpp"

namespace mine {

// When the loss jumps to `limit` times its running mean, sends the job back to the
// last checkpoint before that.
struct SpikeGuard final : d9d::StepActor {
  using StepActor::StepActor;
  double limit = 3, mean = 0;
  std::uint64_t quiet = 10;  // first steps, in which nothing counts as a spike
  void step_done(const d9d::StepDone& step) override {
    if (!step.loss) return;
    if (mean > 0 && *step.loss > limit * mean && step.number > quiet) return roll_back(step.number);
    mean = mean > 0 ? 0.9 * mean + 0.1 * *step.loss : *step.loss;
  }
  std::optional<nlohmann::json> state() const override { return nlohmann::json(mean); }  // for checkpoints
  void load_state(const nlohmann::json& state) override { mean = state; }
};
BOOST_DESCRIBE_STRUCT(SpikeGuard, (), (limit, quiet))

// Halves the learning rate when an evaluation is no better than the best one, and ends the job when that helps no more.
struct Plateau final : d9d::StepActor {
  using StepActor::StepActor;
  double least = 0.1, factor = 1, best = std::numeric_limits<double>::max();
  bool decides() const override { return true; }  // so that it acts at the same step in every run
  void evaluation_done(const d9d::EvaluationDone& evaluation) override {
    if (!evaluation.loss) return;
    if (*evaluation.loss < best) return void(best = *evaluation.loss);
    factor /= 2;
    if (factor < least) return end_job(fmt::format("no loss below {:.4f}", best));
    set_lr_factor(factor);
  }
  std::optional<nlohmann::json> state() const override { return nlohmann::json{factor, best}; }
  void load_state(const nlohmann::json& state) override { factor = state[0], best = state[1]; }
};
BOOST_DESCRIBE_STRUCT(Plateau, (), (least))

// Every `every` steps has the model continue some prompts, and shows the texts. Without a tokenizer a
// text is its ids.
struct Sampler final : d9d::StepActor {
  using StepActor::StepActor;
  d9d::Count every = 100, tokens = 32;
  std::vector<std::string> prompts;
  std::optional<std::string> tokenizer;
  void prepare() { set_prompts(prompts, tokenizer, tokens); }
  bool decides() const override { return true; }
  void step_done(const d9d::StepDone& step) override {
    if ((step.number + 1) % every == 0) ask_for_texts();  // they are made after the next step
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
  d9d::add_actor<mine::Plateau>(registry, "plateau");
  d9d::add_actor<mine::Sampler>(registry, "sampler");
}
