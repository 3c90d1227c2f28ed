#include "runtime/rank/model/plugin_parameters.hpp"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/rank/ranks_of_mesh.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::on_each_rank;
using test::RankOfMesh;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StageParameter parameter_called(const std::string& name, at::ScalarType dtype = at::kFloat,
                                bool trainable = true) {
  return {name, at::zeros({2}, dtype).requires_grad_(trainable), Layout::local({2}), {}};
}

// Of two stages: an embedding and a layer, a layer and a norm.
std::vector<StageParameter> stage_of(const RankOfMesh& my, at::ScalarType last = at::kFloat) {
  if (my.rank == 0) return {parameter_called("embedding"), parameter_called("layers.0.up")};
  return {parameter_called("layers.1.up"), parameter_called("norm", last)};
}

OptimizerOptions with_rules(std::vector<ParameterRule> rules) {
  return AdamWOptions{.lr = 1, .rules = std::move(rules)};
}

std::vector<std::string> check(const RankOfMesh& my, const std::vector<StageParameter>& parameters,
                               const OptimizerOptions& optimizer,
                               const std::map<std::string, std::string>& patterns = {},
                               const std::vector<StepUpdate>& updates = {{}}) {
  return check_plugin_parameters(parameters, *provider_of(optimizer), patterns, updates, my.domains, my.open);
}

std::string refusal(const RankOfMesh& my, const std::vector<StageParameter>& parameters,
                    const OptimizerOptions& optimizer,
                    const std::map<std::string, std::string>& patterns = {},
                    const std::vector<StepUpdate>& updates = {{}}) {
  return test::error_of([&] { check(my, parameters, optimizer, patterns, updates); }, ErrorKind::input);
}

TEST(PluginParameters, ARuleMayBeForAnotherStage) {
  on_each_rank({.pipeline_parallel = 2}, [](const RankOfMesh& my) {
    EXPECT_THAT(check(my, stage_of(my), with_rules({{.match = "norm"}, {.match = "layers.0.*"}})), IsEmpty());
  });
}

TEST(PluginParameters, ARuleForNoParameterOfAnyStageIsRefusedByName) {
  on_each_rank({.pipeline_parallel = 2}, [](const RankOfMesh& my) {
    EXPECT_THAT(
        refusal(my, stage_of(my), with_rules({{.match = "nrom"}, {.match = "bias*"}})),
        AllOf(HasSubstr("optimizer.rules.0.match: \"nrom\" matches no parameter of the model; did you "
                        "mean \"norm\"?"),
              HasSubstr("optimizer.rules.1.match: \"bias*\" matches no parameter of the model; they are "
                        "called embedding, layers.0.up, layers.1.up, ...")));
  });
}

TEST(PluginParameters, ARuleBehindAnotherOrForFrozenParametersIsRefused) {
  on_each_rank({}, [](const RankOfMesh& my) {
    const std::vector<StageParameter> parameters{parameter_called("head"),
                                                 parameter_called("table", at::kFloat, /*trainable=*/false)};

    EXPECT_THAT(
        refusal(my, parameters, with_rules({{.match = "*"}, {.match = "head"}})),
        HasSubstr("optimizer.rules.1.match: \"head\" matches 1 parameter, but rules before it match"));
    EXPECT_THAT(refusal(my, parameters, with_rules({{.match = "table"}})), HasSubstr("matches no parameter"));
  });
}

TEST(PluginParameters, APatternOfTheJobMayBeForAnotherStageAndHasToMatchSomewhere) {
  on_each_rank({.pipeline_parallel = 2}, [](const RankOfMesh& my) {
    EXPECT_THAT(check(my, stage_of(my), AdamWOptions{.lr = 1}, {{"gradient_hooks.0.match", "norm"}}),
                IsEmpty());
    EXPECT_THAT(refusal(my, stage_of(my), AdamWOptions{.lr = 1},
                        {{"gradient_hooks.0.match", "nrom"}, {"trainer.logging.statistics.all", "*"}}),
                HasSubstr("gradient_hooks.0.match: \"nrom\" matches no parameter of the model; did you mean "
                          "\"norm\"?"));
  });
}

TEST(PluginParameters, EachIsMovedByAnUpdateAndEachPatternOfAnUpdateFitsOne) {
  on_each_rank({.pipeline_parallel = 2}, [](const RankOfMesh& my) {
    const auto refused = [&](const std::vector<StepUpdate>& updates) {
      return refusal(my, stage_of(my), AdamWOptions{.lr = 1}, {}, updates);
    };
    EXPECT_THAT(check(my, stage_of(my), AdamWOptions{.lr = 1}, {}, {{{"layers.*", "norm"}}, {{"emb*"}}}),
                IsEmpty());
    EXPECT_THAT(
        refused({{{"layers.*"}}, {{"nrom"}}, {}}),
        HasSubstr("task: update 1 of its step: \"nrom\" matches no parameter of the model; did you mean "
                  "\"norm\"?"));
    EXPECT_THAT(refused({{{"layers.*"}}, {{"emb*"}}}),
                HasSubstr("task: norm trains, but no update of its step moves it"));
    EXPECT_THAT(refused({{{"layers.*", "norm"}}}), HasSubstr("task: embedding trains, but no update"));
  });
}

TEST(PluginParameters, WarnsOnceWhereUpdatesOfBfloat16AreLost) {
  on_each_rank({.pipeline_parallel = 2}, [](const RankOfMesh& my) {
    const auto half = stage_of(my, at::kBFloat16);

    EXPECT_THAT(
        check(my, half, AdamWOptions{.lr = 1, .master_weights = false}),
        ElementsAre(AllOf(HasSubstr("optimizer.master_weights: false, so each update of the bfloat16"),
                          HasSubstr("leave it out, or choose stochastic_adamw"))));
    EXPECT_THAT(check(my, half, AdamWOptions{.lr = 1}), IsEmpty());
    EXPECT_THAT(check(my, half, StochasticAdamWOptions{.lr = 1}), IsEmpty());
    EXPECT_THAT(check(my, stage_of(my), AdamWOptions{.lr = 1, .master_weights = false}), IsEmpty());
  });
}

}  // namespace
}  // namespace d9d
