#include "runtime/nn/attention/latent_attention.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/attention/rotary.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

constexpr std::int64_t tokens = 7;

LatentAttentionOptions small_latents(bool latent_queries) {
  return {.hidden_size = 12,
          .num_heads = 2,
          .query_rank = latent_queries ? 6 : 0,
          .key_rank = 5,
          .plain_dim = 3,
          .rotary_dim = 4,
          .value_dim = 6,
          .scale = 0.4,
          .interleaved = true,
          .bias = true};
}

struct Block {
  explicit Block(const LatentAttentionOptions& options)
      : make(at::kDouble, at::kCPU, 0.5F), attention(make, options) {
    std::uint64_t seed = 1;
    for (const StageParameter& parameter : make.parameters())
      parameter.tensor.detach().copy_(
          at::randn(parameter.tensor.sizes(), at::make_generator<at::CPUGeneratorImpl>(seed++), at::kDouble));
  }
  const at::Tensor& operator[](const std::string& name) const {
    for (const StageParameter& parameter : make.parameters()) {
      if (parameter.name == name) return parameter.tensor;
    }
    throw std::out_of_range(name);
  }
  at::Tensor normed(const at::Tensor& x, const std::string& name) const {
    return x * at::rsqrt(x.square().mean(-1, true) + 1e-6) * (*this)[name + ".weight"];
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name, bool bias) const {
    return at::linear(x, (*this)[name + ".weight"], bias ? (*this)[name + ".bias"] : at::Tensor());
  }

  ParameterMaker make;
  LatentAttention attention;
};

// Pairs (2i, 2i + 1) of the last dimension as complex numbers. x [B, S, heads, R].
at::Tensor turned(const at::Tensor& x, const RopeOptions& rope) {
  const at::Tensor angle =
      at::outer(at::arange(tokens, at::kDouble), inverse_frequencies(rope, x.size(-1)).to(at::kDouble));
  const at::Tensor turn = at::polar(at::ones_like(angle), angle).unsqueeze(1);
  return at::view_as_real(at::view_as_complex(x.unflatten(-1, {-1, 2}).contiguous()) * turn).flatten(-2);
}

// Head by head, as the paper writes it.
at::Tensor written_out(const Block& block, const LatentAttentionOptions& o, const at::Tensor& x,
                       const RopeOptions& rope) {
  const at::Tensor queries =
      o.query_rank > 0
          ? block.linear(block.normed(block.linear(x, "q_a_proj", true), "q_a_layernorm"), "q_b_proj", false)
          : block.linear(x, "q_proj", false);
  const at::Tensor q = queries.unflatten(-1, {o.num_heads, -1});
  const at::Tensor joint = block.linear(x, "kv_a_proj_with_mqa", true);
  const at::Tensor latent = block.normed(joint.narrow(-1, 0, o.key_rank), "kv_a_layernorm");
  const at::Tensor kv = block.linear(latent, "kv_b_proj", false).unflatten(-1, {o.num_heads, -1});
  const at::Tensor k_rot = turned(joint.narrow(-1, o.key_rank, o.rotary_dim).unsqueeze(2), rope);
  const at::Tensor q_rot = turned(q.narrow(-1, o.plain_dim, o.rotary_dim), rope);
  std::vector<at::Tensor> mixed;
  for (std::int64_t head = 0; head < o.num_heads; ++head) {
    const auto of_head = [&](const at::Tensor& all, std::int64_t first, std::int64_t width) {
      return all.select(2, head).narrow(-1, first, width);
    };
    at::Tensor scores = of_head(q, 0, o.plain_dim).matmul(of_head(kv, 0, o.plain_dim).transpose(1, 2)) +
                        q_rot.select(2, head).matmul(k_rot.select(2, 0).transpose(1, 2));
    const at::Tensor later = at::ones({tokens, tokens}, at::kBool).triu(1);
    scores = (scores * o.scale).masked_fill(later, -INFINITY);
    mixed.push_back(at::softmax(scores, -1).matmul(of_head(kv, o.plain_dim, o.value_dim)));
  }
  return block.linear(at::cat(mixed, -1), "o_proj", true);
}

TEST(LatentAttention, IsThatOfThePaper) {
  RopeOptions rope;
  rope.interleaved = true;
  RotaryTable table(rope, 4);
  const auto [cos, sin] = table.at_positions(at::arange(tokens, at::kLong).expand({2, tokens}));
  const at::Tensor x = at::randn({2, tokens, 12}, at::make_generator<at::CPUGeneratorImpl>(9), at::kDouble);
  for (const bool latent_queries : {true, false}) {
    const Block block(small_latents(latent_queries));

    const at::Tensor y = block.attention.forward(x, cos, sin);

    EXPECT_LT(relative_difference(y, written_out(block, small_latents(latent_queries), x, rope)), 1e-6)
        << latent_queries;
  }
}

TEST(LatentAttention, IsNotSharedByRanksThatDoNotDivideItsHeads) {
  EXPECT_NO_THROW(require_divisible_heads(small_latents(true), 2));
  EXPECT_THROW(require_divisible_heads(small_latents(true), 3), Error);
}

}  // namespace
}  // namespace d9d::test
