#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/data/sample_source.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

double norm_of(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

}  // namespace

void expect_equal_training(const ParallelCase& given) {
  ParallelCase alone = given;
  alone.mesh = {};
  alone.schedule = GpipeSchedule{};
  const Trained expected = train_once(alone);
  const Trained trained = train_once(given);
  EXPECT_NEAR(trained.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_NEAR(trained.norm, expected.norm, 1e-4 * expected.norm);
  ASSERT_EQ(trained.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    ASSERT_TRUE(trained.gradients.contains(name)) << name;
    ASSERT_EQ(trained.gradients.at(name).sizes(), gradient.sizes()) << name;
    EXPECT_LE(norm_of(trained.gradients.at(name) - gradient), 1e-4 * norm_of(gradient) + 1e-9) << name;
  }
}

Qwen3Config tiny_qwen3(Qwen3Kind family) {
  Qwen3Config config;
  config.kind = family;
  config.vocab_size = 96;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.max_position_embeddings = 64;
  config.initializer_range = 0.1;  // gradients of different size, no flat softmax
  config.moe_intermediate_size = 24;
  config.num_experts = 4;
  config.num_experts_per_tok = 2;
  config.norm_topk_prob = true;
  return config;
}

TensorMap tiny_batch(const ModelDescription& model, int samples, int length) {
  const RandomStream random(7, "tiny batch");
  const at::Tensor text = at::empty({samples, length + 1}, at::kLong);
  for (std::int64_t i = 0; i < text.numel(); ++i) {
    text.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(model.vocab_size)));
  }
  const at::Tensor labels = text.narrow(1, 1, length).clone();
  for (int sample = 0; sample < samples; ++sample)
    labels[sample].narrow(0, 0, sample % 5).fill_(ignored_label);
  return {{"input_ids", text.narrow(1, 0, length).contiguous()}, {"labels", labels}};
}

}  // namespace d9d::test
