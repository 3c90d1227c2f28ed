#pragma once
// The built-in inference task `generation`. It writes a row {"sample", "prompt_tokens", "new_tokens", "tokens"} for
// each sample: how many tokens it had, how many were made, and their ids; and "text" where there is a tokenizer.

#include <memory>
#include <optional>
#include <utility>

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result/result_sink.hpp"
#include "runtime/text/generation.hpp"
#include "runtime/text/stop_texts.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

struct GenerationTaskOptions {
  GenerateOptions generate;
  std::optional<std::int64_t> padding_id;  // at the end of a sample
  std::optional<Tokenizer> tokenizer;
  std::shared_ptr<const StopTexts> stops = {};  // after which the result's text ends; null: none
};

class GenerationTask final : public InferenceTask {
 public:
  // `stages`: of the pipeline.
  GenerationTask(std::shared_ptr<ResultSink> results, int stages, GenerationTaskOptions options)
      : results_(std::move(results)), stages_(stages), options_(std::move(options)) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  std::shared_ptr<StageModule> running(std::shared_ptr<StageModule> stage,
                                       StagePosition position) const override;
  int passes() const override {
    return stages_ == 1 ? 1 : static_cast<int>(options_.generate.max_new_tokens);
  }
  void process_outputs(const InferenceContext& context) override;
  void flush() override { results_->flush(); }
  void finalize() override { results_->flush(); }

 private:
  const std::shared_ptr<ResultSink> results_;
  const int stages_;
  const GenerationTaskOptions options_;
};

}  // namespace d9d
