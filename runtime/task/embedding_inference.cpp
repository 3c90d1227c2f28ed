#include "runtime/task/embedding_inference.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"

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

}  // namespace

ForwardInputs EmbeddingInference::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  TensorMap shared{{"pooling_mask", last_tokens(labels)}};
  for (const char* name : {"position_ids", "sequence_length", "hidden_states_agg_mask"}) {
    const auto given = context.batch.find(name);
    if (given != context.batch.end()) shared.insert(*given);
  }
  return {{{"input_ids", tensor_at(context.batch, "input_ids", "the batch")}}, std::move(shared), {}};
}

void EmbeddingInference::process_outputs(const InferenceContext& context) {
  const at::Tensor vectors = tensor_at(context.outputs, "embeddings", "the last stage's output")
                                 .to(at::kCPU, at::kFloat)
                                 .contiguous();
  D9D_CHECK(vectors.dim() == 2 && vectors.size(0) == static_cast<std::int64_t>(context.samples.size()),
            "{} samples in a microbatch of {}", context.samples.size(), vectors.size(0));
  const auto* values = vectors.const_data_ptr<float>();
  const std::int64_t width = vectors.size(1);
  for (std::size_t row = 0; row < context.samples.size(); ++row) {
    if (context.samples[row] < 0) continue;
    const float* begin = values + static_cast<std::int64_t>(row) * width;
    lines_.add(context.samples[row], {{"embedding", std::vector<float>(begin, begin + width)}});
  }
}

}  // namespace d9d
