#pragma once
// Samples that are made of texts which the model being trained has just written (rollouts): the stream gives prompts,
// the model goes on with them between two steps, and the stream makes the step's samples of the texts.
//
// Which weights wrote: those after step n - 1 - lag write the texts of step n, never others, however far the job loads
// ahead; the first lag + 1 steps of a run have texts of the weights that it begins with. So with lag 0 training is on
// policy. With lag 1 samples() of a step is called while the step before trains (unless trainer.data_prefetch is 0),
// which hides the time of a slow reward. After a roll back the texts that wait are those of the undone weights.
// What is drawn depends on trainer.determinism.base_seed, the number of the text and the place of the token: it is the
// same on every mesh, as far as the sums of the logits are, and after a resume.

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/data/sample_stream.hpp"

namespace d9d {

// How the texts are written. The same on all ranks and for the whole job.
struct RolloutOptions {
  std::int64_t max_new_tokens = 1;      // every rank computes so many passes, even if its texts end earlier
  std::vector<std::int64_t> ends = {};  // tokens after which a text ends; it keeps them
  double temperature = 1;               // of the logits, above 0
  double top_p = 1;  // above 0, at most 1. Below 1 log_probs are not those of what was drawn from.
  std::int64_t texts_per_sample = 1;  // more: samples() chooses among them (the best of n)
  std::int64_t lag = 0;               // in steps, see above; at most lag_max
  static constexpr std::int64_t lag_max = 16;
  // Of a prompt; a longer one is refused. 0: the source does not say, and `check` counts memory for prompts as long as
  // a sample.
  std::int64_t prompt_tokens_max = 0;
  bool operator==(const RolloutOptions&) const = default;
};

// The part of a step that one data replica trains on.
struct RolloutStep {
  std::uint64_t step = 1;    // which trains on the texts
  std::uint64_t first = 0;   // its first sample, counted from 0 over all replicas and steps of the run
  std::int64_t samples = 0;  // one after another from there
};

// What the model makes of a prompt. `log_probs`: empty where nobody asks for them.
struct WrittenText {
  std::vector<std::int64_t> ids = {};
  std::vector<float> log_probs = {};
  bool operator==(const WrittenText&) const = default;
};

struct Rollout {
  std::uint64_t number = 0;  // counted as samples are; of several for a sample one after another
  std::vector<std::int64_t> prompt;
  std::vector<std::int64_t> text;  // the new tokens, with the one that ended it: one at least
  std::vector<float> log_probs;    // of each of them, when it was drawn: log softmax(logits / temperature)
  bool operator==(const Rollout&) const = default;
};

// As any ReplicaStream; the texts that are not used up yet are a part of the checkpoint, too, so that state() is what
// the stream itself keeps. Calls come in this order, with n = 1, 2, ...: prompts(n + lag), samples(n), state().
// Before all of them come prompts(1) to prompts(lag).
class RolloutStream : public ReplicaStream {
 public:
  virtual RolloutOptions options() const = 0;
  // Returns step.samples x texts_per_sample prompts, each with a token at least. Those of a sample follow each other.
  virtual std::vector<std::vector<std::int64_t>> prompts(const RolloutStep& step) = 0;
  // Returns step.samples samples of the texts, which are in the order of the prompts. Their `numbers` must be finite.
  virtual std::vector<Sample> samples(const RolloutStep& step, std::span<const Rollout> texts) = 0;
};

// In how many microbatches the stages of a pipeline write the texts: one for each stage where there are enough.
inline std::int64_t microbatches_of_texts(std::int64_t texts, int stages) {
  return std::min<std::int64_t>(texts, stages);
}

// The sample that learns the tokens of a text: input_ids prompt and text without its last token, labels the text alone,
// both filled up on the right to `length` (which token_mask says). Input error for a text that does not fit.
Sample text_sample(const Rollout& rollout, std::int64_t length);
// Its log_probs where the labels are, 0 elsewhere; [length]. For Sample::numbers.
std::vector<float> label_log_probs(const Rollout& rollout, std::int64_t length);

// Input error that names the option.
void require_possible(const RolloutOptions& options);

}  // namespace d9d
