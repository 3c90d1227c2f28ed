// Forward and backward of every op on a device that has nothing but an op table: what is shared between devices
// takes no pointers, and asks the table for all the rest.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/activation.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/delta_gates.hpp"
#include "kernels/attention/delta_rule.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/attention/short_convolution.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/graph/weight_work.hpp"
#include "kernels/linear.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "tests/kernels/meta_ops.hpp"

namespace d9d {
namespace {

using kernels::WeightWork;
using Names = std::vector<std::string>;

at::Tensor meta(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions(at::kMeta).dtype(dtype));
}
at::Tensor variable(at::IntArrayRef sizes) {
  return meta(sizes).requires_grad_();
}
// With a gradient buffer, so that its gradient is weight work.
at::Tensor parameter(at::IntArrayRef sizes) {
  at::Tensor weight = variable(sizes);
  weight.mutable_grad() = meta(sizes);
  return weight;
}

class Nodes : public testing::Test {
 protected:
  // The gradients of the weights come as weight work, as they do in a stage.
  void backward(const at::Tensor& y) {
    y.backward(at::empty_like(y));
    work_->run_queued();
  }
  Names names() { return ops_.take_names(); }

 private:
  test::MetaOps ops_;
  c10::intrusive_ptr<WeightWork> work_ = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  WeightWork::Scope scope_{work_};
};

TEST_F(Nodes, OfDenseLayersCallTheTableOnly) {
  const at::Tensor x = variable({2, 3, 8}), weight = parameter({8});

  const at::Tensor y = kernels::linear(x, parameter({6, 8}), parameter({6}));
  const auto [normed, sum] = kernels::add_rms_norm(x, x, weight, 1e-6);
  backward(y);
  backward(normed);
  backward(kernels::silu_mul(x, x));
  backward(kernels::gelu_mul(x, x));
  backward(kernels::embedding(meta({4}, at::kLong), parameter({10, 8})));

  EXPECT_EQ(names(),
            Names({"matmul", "rms_norm", "matmul", "matmul", "rms_norm_backward", "silu_mul",
                   "silu_mul_backward", "gelu_mul", "gelu_mul_backward", "embedding", "embedding_dw"}));
}

TEST_F(Nodes, OfAttentionCallTheTableOnly) {
  const at::Tensor q = variable({2, 5, 4, 8}), k = variable({2, 5, 2, 8}), weight = parameter({8});
  const at::Tensor cos = meta({5, 8}), sin = meta({5, 8});

  const auto [normed_q, normed_k] = kernels::qk_norm_rope(q, k, weight, weight, 1e-6, cos, sin);
  const auto [rotated_q, rotated_k] = kernels::rope(normed_q, normed_k, cos, sin);
  backward(kernels::attention(rotated_q, rotated_k, variable({2, 5, 2, 6}), kernels::causal_mask, 1));
  const auto block =
      kernels::attention_block(q.detach(), k.detach(), k.detach(), kernels::full_mask, 1, at::kFloat);
  kernels::merge_attention_block(block, block);

  EXPECT_EQ(names(), Names({"rope", "rope", "rope", "rope", "attention_block", "attention_block_backward",
                            "rope_backward", "rope_backward", "rope_backward", "rope_backward",
                            "attention_block", "merge_attention_block"}));
}

// Weights whose values, and gradients, are rows of one matrix.
std::vector<at::Tensor> adjacent(std::initializer_list<int64_t> rows, int64_t width) {
  int64_t all = 0, begin = 0;
  for (const int64_t count : rows) all += count;
  const at::Tensor values = meta({all, width}), gradients = meta({all, width});
  std::vector<at::Tensor> weights;
  for (const int64_t count : rows) {
    weights.push_back(values.narrow(0, begin, count).detach().requires_grad_());
    weights.back().mutable_grad() = gradients.narrow(0, begin, count);
    begin += count;
  }
  return weights;
}

TEST_F(Nodes, OfQueriesKeysAndValuesMakeTheGradientsOfTheirProjectionByOneProductEach) {
  const auto names_with = [&](const std::vector<at::Tensor>& weights) {
    const auto rows = kernels::linear_multi(variable({2, 5, 8}), weights);
    const auto [q, k, v] = kernels::rope(
        {rows[0].unflatten(-1, {4, 8}), rows[1].unflatten(-1, {2, 8}), rows[2].unflatten(-1, {2, 6})},
        meta({5, 8}), meta({5, 8}));
    const at::Tensor mixed = kernels::attention(q, k, v, kernels::causal_mask, 1);
    names();
    backward(mixed);
    return names();
  };

  EXPECT_EQ(names_with(adjacent({32, 16, 12}, 8)),
            Names({"attention_block_backward", "rope_backward", "rope_backward", "rope_backward", "matmul",
                   "matmul"}));
  EXPECT_EQ(names_with({parameter({32, 8}), parameter({16, 8}), parameter({12, 8})}),
            Names({"attention_block_backward", "rope_backward", "rope_backward", "matmul", "matmul", "matmul",
                   "matmul", "matmul", "matmul"}));
}

TEST_F(Nodes, OfRecurrentMixersCallTheTableOnly) {
  const at::Tensor x = variable({2, 5, 2, 8}), gates = variable({2, 5, 2, 4}), rate = parameter({4}),
                   bias = parameter({4});

  const at::Tensor keys = kernels::short_convolution(x, parameter({40, 1, 3}), 24);
  const auto [decay, beta] = kernels::delta_gates(gates, rate, bias);
  backward(kernels::gated_delta_rule(keys, keys, variable({2, 5, 4, 6}), decay, beta, {}));

  EXPECT_EQ(names(), Names({"short_convolution", "delta_gates", "delta_rule", "delta_rule_backward",
                            "delta_gates_backward", "short_convolution_dx", "short_convolution_dw"}));
}

TEST_F(Nodes, OfTheLossCallTheTableOnly) {
  const at::Tensor hidden = variable({7, 8}), weight = parameter({20, 8}), labels = meta({7}, at::kLong);

  backward(kernels::linear_cross_entropy(hidden, weight, labels));

  EXPECT_EQ(names(), Names({"valid_tokens", "matmul", "cross_entropy", "matmul", "matmul", "uniform_value",
                            "matmul", "cross_entropy", "matmul"}));
}

TEST_F(Nodes, OfTheLossOfALongVocabularyCallTheTableOnly) {
  const at::Tensor hidden = variable({600, 8}), weight = meta({70000, 8}, at::kFloat),
                   labels = meta({600}, at::kLong);

  backward(kernels::linear_cross_entropy(hidden, weight, labels));

  const Names calls = names();
  const auto count = [&](const char* name) { return std::count(calls.begin(), calls.end(), name); };
  EXPECT_EQ(count("cross_entropy_online"), 35 + 9) << "passes of 512 and of 88 tokens";
  EXPECT_EQ(count("matmul"), 2 * count("cross_entropy_online"));
  EXPECT_EQ(count("cross_entropy"), 0);
}

TEST_F(Nodes, OfTheLossOverPartsOfAVocabularyCallTheTableOnly) {
  const at::Tensor hidden = variable({7, 8}), weight = parameter({20, 8}), labels = meta({7}, at::kLong);
  const auto gather = [](const at::Tensor& own) { return own.unsqueeze(0).expand({2, -1, -1}); };

  backward(kernels::linear_cross_entropy_of_part(hidden, weight, labels, {20, 40, gather}));

  EXPECT_EQ(names(), Names({"valid_tokens", "matmul", "vocabulary_statistics", "join_vocabulary",
                            "cross_entropy_of_part", "matmul", "matmul", "uniform_value", "matmul",
                            "cross_entropy_of_part", "matmul"}));
}

TEST_F(Nodes, OfExpertsInStepsCallTheTableOnly) {
  const at::Tensor x = variable({6, 8});

  const auto [probs, experts] = kernels::moe_router(variable({6, 4}), {2, true});
  const auto [rows, offsets, map] = kernels::moe_permute(x, experts, 4);
  backward(kernels::moe_unpermute(kernels::grouped_linear(rows, parameter({4, 8, 8}), offsets), probs, map));

  EXPECT_EQ(names(), Names({"moe_router", "expert_order", "spread_rows", "grouped_product", "combine_rows",
                            "spread_rows", "row_dots", "grouped_product", "combine_rows",
                            "moe_router_backward", "grouped_dw"}));
}

TEST_F(Nodes, OfExpertsInOneOpCallTheTableOnly) {
  const at::Tensor x = variable({6, 8}), probs = variable({6, 2}), experts = meta({6, 2}, at::kLong);

  backward(kernels::moe_experts(x, probs, experts, parameter({4, 16, 8}), parameter({4, 16, 8}),
                                parameter({4, 8, 16})));

  EXPECT_EQ(names(), Names({"expert_rows", "expert_project", "expert_project", "expert_combine",
                            "expert_row_gradients", "expert_dx", "expert_dprobs", "expert_dw", "expert_dw",
                            "expert_dw"}));
}

TEST_F(Nodes, NoneIsNeededByTheOptimizer) {
  const at::Tensor flat = meta({100});

  kernels::adamw_step(flat, flat, flat, flat,
                      {.lr = 1, .beta1 = 0, .beta2 = 0, .eps = 1, .weight_decay = 0, .step = 1});
  kernels::sum_of_squares(flat);

  EXPECT_EQ(names(), Names({"adamw_step", "sum_of_squares"}));
}

}  // namespace
}  // namespace d9d
