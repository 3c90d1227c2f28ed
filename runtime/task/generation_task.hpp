#pragma once
// The built-in inference task `generation`. It writes {"sample", "prompt_tokens", "tokens"} for each sample,
// and "text" where the model's folder has a tokenizer.

#include <optional>

#include "runtime/data/tokenizer.hpp"
#include "runtime/task/generation.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/result_lines.hpp"

namespace d9d {

struct GenerationTaskOptions {
  GenerateOptions generate;
  std::optional<std::int64_t> padding_id;  // at the end of a sample
  std::optional<Tokenizer> tokenizer;
};

class GenerationTask final : public InferenceTask {
 public:
  GenerationTask(const InferencePlace& place, GenerationTaskOptions options)
      : lines_(place.results, place.rank), stages_(place.stages), options_(std::move(options)) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  std::shared_ptr<StageModule> running(std::shared_ptr<StageModule> stage,
                                       StagePosition position) const override;
  int passes() const override {
    return stages_ == 1 ? 1 : static_cast<int>(options_.generate.max_new_tokens);
  }
  void process_outputs(const InferenceContext& context) override;
  void flush() override { lines_.flush(); }
  void finalize() override { lines_.flush(); }

 private:
  ResultLines lines_;
  const int stages_;
  const GenerationTaskOptions options_;
};

}  // namespace d9d
