#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>

#include "runtime/base/error.hpp"
#include "runtime/data/token_pooling.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

// bool [B, S]: where the batch's rows hold tokens. Labels cannot say: the last token of a text may have none.
at::Tensor tokens_of(const TensorMap& batch) {
  const auto mask = batch.find("token_mask");
  if (mask != batch.end()) return mask->second;
  return at::ones_like(tensor_at(batch, "input_ids", "the batch"), at::kBool);
}

// In a task's state, int64 [B]: how many vectors each row has. The second is of rows of several documents.
constexpr const char* vectors_of_rows = "vectors_of_rows";
constexpr const char* vectors_of_documents = "vectors_of_documents";

}  // namespace

ForwardInputs EmbeddingInference::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = token_inputs(context.batch);
  const auto found = context.batch.find("document_starts");
  const bool packed = found != context.batch.end();
  const TokenPooling which = first_ ? TokenPooling::first : TokenPooling::last;
  const at::Tensor mask = token_pooling_mask(tokens_of(context.batch).to(at::kLong), which,
                                             packed ? found->second : at::Tensor());
  made.shared["pooling_mask"] = mask;
  made.state[packed ? vectors_of_documents : vectors_of_rows] = mask.sum(1);
  return made;
}

void EmbeddingInference::process_outputs(const InferenceContext& context) {
  const at::Tensor vectors =
      tensor_at(context.outputs, "embeddings", "the last stage's output").to(at::kCPU, at::kFloat);
  const bool packed = context.state.contains(vectors_of_documents);
  const at::Tensor counts =
      tensor_at(context.state, packed ? vectors_of_documents : vectors_of_rows, "the task state").cpu();
  ResultRows made;
  std::vector<std::int64_t> documents;
  for (std::size_t row = 0; row < context.samples.size(); ++row) {
    const auto count = counts[static_cast<std::int64_t>(row)].item<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) documents.push_back(i);
    made.samples.insert(made.samples.end(), static_cast<std::size_t>(count), context.samples[row]);
  }
  if (packed) made.columns.emplace_back("document", at::tensor(documents, at::kLong));
  D9D_CHECK(vectors.dim() == 2 && vectors.size(0) == std::ssize(made.samples),
            "{} vectors of a microbatch of {}", vectors.size(0), made.samples.size());
  made.columns.emplace_back("embedding", vectors);
  results_->add(made);
}

}  // namespace d9d
