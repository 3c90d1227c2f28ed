#pragma once
// A TextRequest as an inference task: its prompts in microbatches, one for each pipeline stage where there are enough,
// and the texts that come of them.

#include <vector>

#include "runtime/task/inference_task.hpp"
#include "runtime/text/text_request.hpp"

namespace d9d {

class PromptedTexts final : public InferenceTask {
 public:
  // Input errors: no prompt, an empty one, an option that is impossible.
  PromptedTexts(TextRequest request, int stages);

  std::vector<ForwardInputs> microbatches() const;
  // By prompt; complete when all microbatches were processed on this rank, otherwise empty.
  Texts take();

  ForwardInputs build_forward_inputs(
      const MicrobatchContext& context) const override;  // a bug: there is no data
  std::shared_ptr<StageModule> running(std::shared_ptr<StageModule> stage,
                                       StagePosition position) const override;
  int passes() const override;
  void process_outputs(const InferenceContext& context) override;

 private:
  const TextRequest request_;
  const int stages_;
  Texts texts_;
  std::size_t made_ = 0;
};

}  // namespace d9d
