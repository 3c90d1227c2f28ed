// Which parts of a model a stage builds, and what it refuses to build.
#include "runtime/nn/model/causal_lm.hpp"

#include <gmock/gmock.h>

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Names = std::vector<std::string>;

Qwen3Config two_layers() {
  Qwen3Config config;
  config.hidden_size = 8;
  config.intermediate_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 4;
  config.vocab_size = 10;
  return config;
}

Names names_of(const Qwen3Config& config, StagePosition position) {
  Names names;
  for (const StageParameter& parameter : config.build_stage(position, {})->parameters())
    names.push_back(parameter.name);
  return names;
}

std::string refusal(const Qwen3Config& config, StagePosition position, const BuildOptions& options = {}) {
  return test::error_of([&] { config.build_stage(position, options); }, ErrorKind::input);
}

TEST(CausalLmParts, AreThoseOfTheStage) {
  const Names first = names_of(two_layers(), {0, 2}), last = names_of(two_layers(), {1, 2});

  EXPECT_THAT(first, Contains("model.embed_tokens.weight"));
  EXPECT_THAT(first, Contains("model.layers.0.mlp.down_proj.weight"));
  EXPECT_THAT(first, Not(Contains("lm_head.weight")));
  EXPECT_THAT(last, Contains("model.layers.1.mlp.down_proj.weight"));
  EXPECT_THAT(last, Contains("model.norm.weight"));
  EXPECT_THAT(last, Contains("lm_head.weight"));
  EXPECT_THAT(last, Not(Contains("model.embed_tokens.weight")));
}

// Muon asks: whatever a head is called, and on every stage that has a copy of a tied one.
TEST(CausalLmParts, SayWhichAreEmbeddingsAndOutputs) {
  Qwen3Config tied = two_layers(), several = two_layers();
  tied.tie_word_embeddings = true;
  several.heads = {
      {"next", CausalLmHead{}}, {"kind", ClassificationHead{.num_labels = 3}}, {"vector", EmbeddingHead{5}}};
  const auto ends_of = [](const Qwen3Config& config, StagePosition position) {
    std::map<std::string, ParameterRole> ends;
    for (const StageParameter& parameter : config.build_stage(position, {})->parameters()) {
      if (parameter.role != ParameterRole::inside) ends[parameter.name] = parameter.role;
    }
    return ends;
  };
  using Ends = std::map<std::string, ParameterRole>;
  const std::string table = "model.embed_tokens.weight";

  EXPECT_EQ(ends_of(several, {0, 1}), (Ends{{table, ParameterRole::embedding},
                                            {"lm_head.weight", ParameterRole::output},
                                            {"heads.kind.score.weight", ParameterRole::output},
                                            {"heads.vector.projection.weight", ParameterRole::output}}));
  EXPECT_EQ(ends_of(tied, {0, 2}), (Ends{{table, ParameterRole::embedding}}));
  EXPECT_EQ(ends_of(tied, {1, 2}), (Ends{{table, ParameterRole::output}}));
}

TEST(CausalLmParts, OfATiedHeadAreTheEmbeddingOnBothEnds) {
  Qwen3Config tied = two_layers();
  tied.tie_word_embeddings = true;

  EXPECT_THAT(names_of(tied, {0, 2}), Contains("model.embed_tokens.weight"));
  EXPECT_THAT(names_of(tied, {1, 2}), Contains("model.embed_tokens.weight"));
  EXPECT_THAT(names_of(tied, {1, 2}), Not(Contains("lm_head.weight")));
}

TEST(CausalLmParts, OfSeveralHeadsBearTheirNames) {
  Qwen3Config several = two_layers();
  several.heads = {{"next", CausalLmHead{}}, {"kind", ClassificationHead{.num_labels = 3}}};
  const Names names = names_of(several, {0, 1});

  EXPECT_THAT(names, Contains("lm_head.weight"));
  EXPECT_THAT(names, Contains(HasSubstr("heads.kind.")));
}

TEST(CausalLmParts, ThatCannotBeAreRefused) {
  EXPECT_THAT(refusal(two_layers(), {2, 2}), HasSubstr("no pipeline stage 2 of 2"));
  EXPECT_THAT(refusal(two_layers(), {0, 1}, {.dtype = at::kHalf}), HasSubstr("use float32 or bfloat16"));
  Qwen3Config balanced = two_layers();
  balanced.kind = Qwen3Kind::moe;
  balanced.num_experts = 4;
  balanced.num_experts_per_tok = 2;
  balanced.moe_intermediate_size = 8;
  balanced.router_aux_loss_coef = 0.1;
  balanced.heads = {{"", ClassificationHead{.num_labels = 3}}};
  EXPECT_THAT(refusal(balanced, {0, 1}), HasSubstr("set router_aux_loss_coef and router_z_loss_coef to 0"));
}

}  // namespace
}  // namespace d9d
