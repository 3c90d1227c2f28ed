#include "runtime/job/rule/head_rules.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing_job::error_of;
using testing_job::load;

const std::string classifies = "model_provider.head={kind: classification, num_labels: 3}";
const std::string classification = "task={name: classification}";

TEST(HeadRules, ResolveTheHeadsOfAModel) {
  EXPECT_TRUE(load().model->heads.empty());
  EXPECT_TRUE(load({"model_provider.head={kind: causal_lm}"}).model->heads.empty());
  const auto one = load({classifies, classification}).model;
  EXPECT_EQ(std::get<ClassificationHead>(one->heads.at("")).num_labels, 3);
  EXPECT_FALSE(one->has_language_model_head());
  EXPECT_EQ(one->head_parameters(), 3 * 64);
  const auto several =
      load({"model_provider.heads={lm: {kind: causal_lm}, v: {kind: embedding, embedding_dim: 5}}",
            "task=mine", "plugins=[libmine.so]"})
          .model;
  EXPECT_TRUE(several->has_language_model_head());
  EXPECT_EQ(several->head_parameters(), 512 * 64 + 5 * 64);
}

TEST(HeadRules, SayHowManyClassesLabelsChooseFrom) {
  const auto classes = [](const std::vector<std::string>& overrides) {
    const LoadedJob loaded = load(overrides);
    return num_classes(loaded.job, *loaded.model);
  };
  EXPECT_EQ(classes({classifies, classification}), 3);
  EXPECT_EQ(classes({"model_provider.head={kind: classification, num_labels: 1}", classification}),
            std::nullopt)
      << "a number is learnt";
  EXPECT_EQ(classes({classifies, "task=mine", "plugins=[libmine.so]"}), std::nullopt) << "the task knows";
  EXPECT_EQ(classes({}), std::nullopt);
}

TEST(HeadRules, RefuseATaskThatTheHeadDoesNotServe) {
  EXPECT_THAT(error_of({classifies}), HasSubstr("task: causal_lm reads the loss of tokens"));
  EXPECT_THAT(error_of({classification}), HasSubstr("classification, but the model does not classify"));
  EXPECT_THAT(error_of({classification, "model_provider.head={kind: embedding}"}),
              HasSubstr("set `model_provider.head: {kind: classification"));
}

TEST(HeadRules, Mod10RefuseTheNextTokenWhereTokensSeeThoseAfterThem) {
  const std::string both_ways = "model_provider.model.is_causal=false";

  EXPECT_THAT(error_of({both_ways}), HasSubstr("task: causal_lm learns the token after each"));
  EXPECT_THAT(error_of({both_ways, "task={name: generation, max_new_tokens: 4}"}),
              HasSubstr("task: generation makes a text token"));
  EXPECT_FALSE(load({both_ways, classifies, classification}).model->causal);
}

TEST(HeadRules, LetWordsBeLeftOutWhereTokensSeeBothSides) {
  const std::string both_ways = "model_provider.model.is_causal=false";
  const auto task = [](const std::string& keys) { return "task={name: masked_lm, " + keys + "}"; };

  EXPECT_FALSE(load({both_ways, task("mask_token_id: 3")}).model->causal);
  EXPECT_THAT(error_of({task("mask_token_id: 3")}),
              HasSubstr("task: masked_lm learns words by those on both"));
  EXPECT_THAT(error_of({both_ways, "task={name: masked_lm}"}), HasSubstr("mask_token_id"));
  EXPECT_THAT(error_of({both_ways, task("mask_token_id: 512")}), HasSubstr("vocabulary has 512 words"));
  EXPECT_THAT(error_of({both_ways, task("mask_token_id: 3, mlm_probability: 0")}),
              HasSubstr("there is nothing to learn"));
  EXPECT_THAT(error_of({both_ways, task("mask_token_id: 3, random_replace_prob: 0.3")}),
              HasSubstr("give shares of the same tokens"));
  EXPECT_THAT(error_of({both_ways, classifies, task("mask_token_id: 3")}),
              HasSubstr("task: masked_lm reads the loss of tokens"));
}

TEST(HeadRules, RefuseHeadsThatContradictEachOther) {
  EXPECT_THAT(error_of({classifies, "model_provider.heads={a: {kind: causal_lm}}", classification}),
              HasSubstr("model_provider.head: given beside `heads`"));
  EXPECT_THAT(error_of({"model_provider.heads={a: {kind: causal_lm}, b: {kind: causal_lm}}"}),
              HasSubstr("2 of them are causal_lm"));
  EXPECT_THAT(error_of({"model_provider.heads={a.b: {kind: causal_lm}}"}),
              HasSubstr("choose one without a dot"));
}

TEST(HeadRules, MakeOneLabelARegressionAndNameWhatIsNotComputed) {
  const auto head = [](const std::string& keys) {
    return "model_provider.head={kind: classification, " + keys + "}";
  };
  const std::string targets = "data={source: tokens, tokens: t.npy, targets: n.npy}";

  EXPECT_TRUE(is_regression(*load({head("num_labels: 1"), classification, targets}).model));
  EXPECT_TRUE(is_regression(*load({head("num_labels: 1, problem_type: regression"), classification}).model));
  EXPECT_FALSE(is_regression(*load({classifies, classification}).model));
  EXPECT_THAT(error_of({head("num_labels: 3, problem_type: multi_label_classification"), classification}),
              HasSubstr("model_provider.head.problem_type: multi_label_classification is not supported"));
  EXPECT_THAT(error_of({head("num_labels: 3, problem_type: regression"), classification}),
              HasSubstr("regression of 3 numbers is not supported"));
  EXPECT_THAT(error_of({head("num_labels: 1, problem_type: single_label_classification"), classification}),
              HasSubstr("single_label_classification of one label learns nothing"));
  EXPECT_THAT(error_of({classifies, classification, targets}),
              HasSubstr("data.targets: numbers to learn, which neither task nor head of this job do"));
}

TEST(HeadRules, RefuseExportsWithoutAForm) {
  const std::vector<std::string> own{"task=mine", "plugins=[libmine.so]", "export_to=out"};
  const auto error = [&](const std::string& key) {
    std::vector<std::string> keys = own;
    keys.push_back(key);
    return error_of(keys);
  };
  EXPECT_THAT(error("model_provider.head={kind: embedding, embedding_dim: 4}"),
              HasSubstr("with a projection"));
  EXPECT_THAT(error("model_provider.heads={a: {kind: embedding}}"), HasSubstr("several heads"));
  EXPECT_EQ(error("model_provider.head={kind: embedding}"), "no error");
}

TEST(HeadRules, RefuseSumsThatRanksShareAndLossesBesideNoTokens) {
  EXPECT_THAT(error_of({"model_provider.hidden_states=mean", "mesh.context_parallel_shard=2"}),
              HasSubstr("model_provider.hidden_states: sums over sequences"));
  EXPECT_THAT(error_of({classifies, classification, "model_provider.model.router_z_loss_coef=0.1"}),
              HasSubstr("model_provider.heads: losses on the routing"));
}

TEST(HeadRules, RefuseFurtherTokensBesideHeadsThatPredictNone) {
  const std::string predicting =
      "model_provider={name: deepseek_v3, head: {kind: classification, num_labels: 3}, model: {hidden_size: "
      "64, "
      "intermediate_size: 96, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 512, kv_lora_rank: "
      "8, "
      "qk_nope_head_dim: 8, qk_rope_head_dim: 4, v_head_dim: 8, n_routed_experts: 8, n_shared_experts: 1, "
      "moe_intermediate_size: 32, num_experts_per_tok: 2, num_nextn_predict_layers: 1, mtp_loss_factor: "
      "0.3}}";

  EXPECT_THAT(error_of({predicting, classification}),
              HasSubstr("model_provider.model.mtp_loss_factor: multi-token prediction adds"));
}

}  // namespace
}  // namespace d9d
