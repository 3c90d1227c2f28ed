#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

// labels [B, S] -> int64 [B, S]: 1 at each row's last token.
at::Tensor last_tokens(const at::Tensor& labels) {
  const std::int64_t length = labels.size(1);
  const at::Tensor after = at::arange(1, length + 1, labels.options());
  const at::Tensor ends = at::where(at::ne(labels, ignored_label), after, at::zeros_like(labels));
  const at::Tensor places = ends.amax(1, true).clamp_max(length - 1);
  return at::zeros_like(labels).scatter_(1, places, 1);
}

// Packed rows -> int64 [B, S]: 1 at the last token of each document. What fills a row up is a document of
// which no label counts.
at::Tensor last_of_documents(const at::Tensor& labels, const at::Tensor& starts) {
  const std::int64_t rows = labels.size(0), length = labels.size(1);
  at::Tensor mask = at::zeros_like(labels);
  const auto counts = at::ne(labels, ignored_label);
  for (std::int64_t row = 0; row < rows; ++row) {
    bool counted = false;
    for (std::int64_t i = 0; i < length; ++i) {
      const auto start = starts[row][i].item<std::int64_t>();
      counted = (counted && start != i) || counts[row][i].item<bool>();
      const bool ends = i + 1 == length || starts[row][i + 1].item<std::int64_t>() != start;
      if (ends && counted) mask[row][i] = 1;
    }
  }
  return mask;
}

}  // namespace

ForwardInputs EmbeddingInference::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  ForwardInputs made = token_inputs(context.batch);
  const auto starts = context.batch.find("document_starts");
  const bool packed = starts != context.batch.end();
  const at::Tensor mask = packed ? last_of_documents(labels, starts->second) : last_tokens(labels);
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
