#include "runtime/job/rule/peft_rules.hpp"

#include <gmock/gmock.h>

#include "runtime/tensor/stage_module.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_job::error_of;
using testing_job::load;

std::string adapter_on(const std::string& pattern, const std::string& more = "") {
  return "model_provider.peft={kind: lora, module_name_pattern: '" + pattern + "', params: {r: 4, alpha: 8}" +
         more + "}";
}
const std::string with_folder = "trainer.model_stage_factory.source_checkpoint=weights";

TEST(PeftRules, ListTheParametersOfTheWholeModelAndWhichOfThemTrain) {
  const LoadedJob loaded = load({adapter_on(".*q_proj")});

  std::int64_t trainable = 0;
  for (const StageParameter& parameter : adapted_parameters(loaded.job, *loaded.model)) {
    EXPECT_EQ(parameter.tensor.requires_grad(), parameter.of_adapter) << parameter.name;
    if (parameter.of_adapter) trainable += parameter.tensor.numel();
  }

  EXPECT_EQ(trainable, 4 * 4 * (64 + 64));
  const PeftShares shares = peft_shares(loaded.job, *loaded.model);
  EXPECT_EQ(shares.trainable, shares.added);
  EXPECT_GT(shares.added, 0);
  EXPECT_EQ(peft_shares(load().job, *loaded.model).trainable, 1);
}

TEST(PeftRules, CountWhatTrainsOfTheHead) {
  const auto trained = [](const std::vector<std::string>& keys) {
    const LoadedJob loaded = load(keys);
    return peft_shares(loaded.job, *loaded.model).trained_of_head;
  };
  const std::string freeze = "model_provider.peft={kind: freeze, module_name_pattern: ";
  const std::vector<std::string> tied{freeze + "model.embed_tokens}",
                                      "model_provider.model.tie_word_embeddings=true",
                                      "mesh.pipeline_parallel=1"};

  EXPECT_EQ(trained({}), 512 * 64);
  EXPECT_EQ(trained({freeze + "lm_head}"}), 0);
  EXPECT_EQ(trained({adapter_on(".*q_proj")}), 0);
  EXPECT_EQ(trained(tied), 0);
}

TEST(PeftRules, RefusePatternsThatChangeNothing) {
  EXPECT_THAT(error_of({adapter_on("q_proj")}),
              AllOf(HasSubstr("model_provider.peft.module_name_pattern: matches no linear layer"),
                    HasSubstr("begin it with `.*`")));
  EXPECT_THAT(error_of({adapter_on("(")}), HasSubstr("is not a regular expression"));
  EXPECT_THAT(error_of({"model_provider.peft={kind: stack, methods: [{kind: full_tune, module_name_pattern: "
                        "lm_head}, {kind: freeze, module_name_pattern: head}]}"}),
              HasSubstr("model_provider.peft.methods.1.module_name_pattern: matches no module"));
  EXPECT_THAT(error_of({"model_provider.peft={kind: stack, methods: []}"}), HasSubstr("without methods"));
  EXPECT_THAT(error_of({"model_provider.peft={kind: freeze, module_name_pattern: '.*'}"}),
              HasSubstr("nothing of the model trains"));
}

TEST(PeftRules, RefuseKeysThatNeedAnotherOne) {
  const std::string only_trainable = "trainer.model_stage_factory.checkpoint_only_trainable_parameters=true";

  EXPECT_THAT(error_of({adapter_on(".*q_proj"), only_trainable}),
              HasSubstr("give trainer.model_stage_factory.source"));
  EXPECT_EQ(error_of({adapter_on(".*q_proj"), only_trainable, with_folder}), "no error");
  EXPECT_THAT(error_of({adapter_on(".*q_proj", ", from: adapter")}),
              HasSubstr("the folder that it was trained on"));
  EXPECT_THAT(error_of({"export_adapter_to=adapter"}), HasSubstr("give model_provider.peft a `lora`"));
  EXPECT_THAT(error_of({adapter_on(".*q_proj"), "export_adapter_to=x", "export_to=x"}),
              HasSubstr("choose another"));
}

TEST(PeftRules, RefuseBeforeTheFirstStepWhatAnAdaptersFolderCannotHold) {
  const auto stack = [](const std::string& more) {
    return "model_provider.peft={kind: stack, methods: [{kind: lora, module_name_pattern: '.*q_proj', "
           "params: {r: 4, "
           "alpha: 8}}, " +
           more + "]}";
  };
  const std::string both = "export_adapter_to=adapter";
  const std::string norms = stack("{kind: full_tune, module_name_pattern: '.*norm'}");
  const std::string adapted = stack("{kind: full_tune, module_name_pattern: '.*layers.0.*q_proj'}");
  const std::string other_r =
      stack("{kind: lora, module_name_pattern: '.*k_proj', params: {r: 4, alpha: 8, use_rslora: true}}");

  EXPECT_EQ(error_of({norms, both}), "no error") << "peft saves whole modules";
  EXPECT_THAT(error_of({adapted, both, "export_to=model"}),
              AllOf(HasSubstr("export_adapter_to: "), HasSubstr("trains too, but has an adapter")));
  EXPECT_EQ(error_of({adapted, "export_to=model"}), "no error");
  EXPECT_THAT(error_of({other_r, both}), HasSubstr("export_adapter_to: some adapters have use_rslora"));
}

TEST(PeftRules, ANewHeadTrainsBesideAdapters) {
  const LoadedJob loaded = load({adapter_on(".*q_proj"), "task={name: classification}",
                                 "model_provider.head={kind: classification, num_labels: 3}"});

  std::vector<std::string> trained;
  for (const StageParameter& parameter : adapted_parameters(loaded.job, *loaded.model)) {
    if (parameter.tensor.requires_grad() && !parameter.of_adapter) trained.push_back(parameter.name);
  }
  EXPECT_EQ(trained, std::vector<std::string>{"score.weight"});
}

TEST(PeftRules, OptimizerRulesSeeWhatTrains) {
  const std::string rule = "optimizer.rules=[{match: '*lora_B*', lr_multiplier: 2}]";

  EXPECT_EQ(error_of({adapter_on(".*q_proj"), rule}), "no error");
  EXPECT_THAT(error_of({adapter_on(".*q_proj"), "optimizer.rules=[{match: '*k_proj*', lr_multiplier: 2}]"}),
              HasSubstr("matches no parameter"));
}

}  // namespace
}  // namespace d9d
