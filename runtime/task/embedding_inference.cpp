#include "runtime/task/inference_tasks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/token_pooling.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

// labels [B, S] -> int64 [B, S]: 1 where a position holds a token, up to the one after each row's last label.
// What fills a packed row up is a document of which no label counts.
at::Tensor tokens_by(const at::Tensor& labels, const at::Tensor& starts) {
  const at::Tensor counts = at::ne(labels, ignored_label).to(at::kLong);
  if (starts.defined())
    return at::zeros_like(labels).scatter_add_(1, starts, counts).gather(1, starts).ne(0).to(at::kLong);
  const std::int64_t length = labels.size(1);
  const at::Tensor places = (counts * at::arange(1, length + 1, labels.options())).amax(1, true);
  return at::arange(length, labels.options()).le(places).to(at::kLong);
}

}  // namespace

ForwardInputs EmbeddingInference::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  ForwardInputs made = token_inputs(context.batch);
  const auto found = context.batch.find("document_starts");
  const bool packed = found != context.batch.end();
  const at::Tensor starts = packed ? found->second : at::Tensor();
  const TokenPooling which = first_ ? TokenPooling::first : TokenPooling::last;
  const at::Tensor mask = token_pooling_mask(tokens_by(labels, starts), which, starts);
  made.shared["pooling_mask"] = mask;
  if (packed) made.state["vectors_of_rows"] = mask.sum(1);
  return made;
}

void EmbeddingInference::process_outputs(const InferenceContext& context) {
  const at::Tensor vectors =
      tensor_at(context.outputs, "embeddings", "the last stage's output").to(at::kCPU, at::kFloat);
  const auto packed = context.state.find("vectors_of_rows");
  ResultRows made{context.samples, {}};
  if (packed != context.state.end()) {
    const at::Tensor counts = packed->second.cpu();
    std::vector<std::int64_t> documents;
    made.samples.clear();
    for (std::size_t row = 0; row < context.samples.size(); ++row) {
      const auto count = counts[static_cast<std::int64_t>(row)].item<std::int64_t>();
      for (std::int64_t i = 0; i < count; ++i) documents.push_back(i);
      made.samples.insert(made.samples.end(), static_cast<std::size_t>(count), context.samples[row]);
    }
    made.columns.emplace_back("document", at::tensor(documents, at::kLong));
  }
  D9D_CHECK(vectors.dim() == 2 && vectors.size(0) == std::ssize(made.samples),
            "{} vectors of a microbatch of {}", vectors.size(0), made.samples.size());
  made.columns.emplace_back("embedding", vectors);
  results_->add(made);
}

}  // namespace d9d
