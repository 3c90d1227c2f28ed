#include "runtime/state/convert/rule_mapper.hpp"

#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::applied;
using test::counting;
using test::error_of;
using test::expect_same;
using test::folder_state;
using testing::HasSubstr;

// to_model() of model_support, written as rules.
ConversionRules rules_to_model() {
  return {.rules = {StackRule{"layers.{l}.experts.{e}.gate_up", "layers.{l}.gate_up", 0},
                    ChunkRule{"layers.{l}.gate_up", {"layers.{l}.gate", "layers.{l}.up"}, 1},
                    StackRule{"layers.{l}.experts.{e}.down", "layers.{l}.down", 0},
                    TransposeRule{"layers.{l}.gate", {1, 2}}, TransposeRule{"layers.{l}.up", {1, 2}},
                    TransposeRule{"layers.{l}.down", {1, 2}}},
          .dtype = {}};
}

ConversionRules rules_to_folder() {
  return {.rules = {TransposeRule{"layers.{rest*}", {1, 2}},
                    ConcatenateRule{{"layers.{l}.gate", "layers.{l}.up"}, "layers.{l}.gate_up", 1},
                    UnstackRule{"layers.{l}.{what}", "layers.{l}.experts.{e}.{what}", 0}},
          .dtype = {}};
}

TEST(RuleMapper, IsTheGraphThatIsWrittenByHand) {
  const RuleMapper by_rules = mapper_by_rules(rules_to_model(), folder_state());

  EXPECT_EQ(inputs_of(*by_rules.mapper), inputs_of(*test::to_model()));
  expect_same(applied(*by_rules.mapper, folder_state()), applied(*test::to_model(), folder_state()));
}

TEST(RuleMapper, ThereAndBackIsTheSame) {
  const auto model = applied(*mapper_by_rules(rules_to_model(), folder_state()).mapper, folder_state());

  expect_same(applied(*mapper_by_rules(rules_to_folder(), model).mapper, model), folder_state());
}

TEST(RuleMapper, RenamesDropsAndAddsDims) {
  const TensorMap state{{"h.0.w", counting({2, 1})}, {"h.0.old", counting({3})}, {"keep", counting({4})}};

  const auto made = mapper_by_rules(
      {.rules = {DropRule{"*.old"}, SqueezeRule{"h.{l}.w", 1}, RenameRule{"h.{l}.{x}", "model.{l}.{x}"},
                 UnsqueezeRule{"keep", 0}, CastRule{"keep", Dtype::float16}},
       .dtype = {}},
      state);

  EXPECT_EQ(inputs_of(*made.mapper), (Names{"h.0.w", "keep"}));
  expect_same(applied(*made.mapper, state),
              {{"model.0.w", counting({2})}, {"keep", counting({4}).unsqueeze(0)}});
  EXPECT_EQ(made.dtypes, (std::map<std::string, Dtype>{{"keep", Dtype::float16}}));
}

TEST(RuleMapper, ADroppedNameIsFreeForAnother) {
  const TensorMap state{{"a", counting({2})}, {"b", counting({3})}};

  const auto made = mapper_by_rules(
      {.rules = {DropRule{"a"}, RenameRule{"b", "a"}, RenameRule{"a", "c"}}, .dtype = {}}, state);

  expect_same(applied(*made.mapper, state), {{"c", counting({3})}});
}

TEST(RuleMapper, CountsExpertsByNumberAndNotByLetter) {
  TensorMap state;
  std::vector<at::Tensor> in_order;
  for (int e = 0; e < 12; ++e) state[fmt::format("e.{}", e)] = in_order.emplace_back(counting({2}) + 10 * e);

  const auto made = mapper_by_rules({.rules = {StackRule{"e.{e}", "all", 0}}, .dtype = {}}, state);

  const at::Tensor all = applied(*made.mapper, state).at("all");
  for (int e = 0; e < 12; ++e) EXPECT_TRUE(test::same(all[e], in_order[static_cast<std::size_t>(e)]));
}

TEST(RuleMapper, NamesTheRuleThatIsWrong) {
  const TensorMap state{{"e.0", counting({2})}, {"e.2", counting({2})}, {"w", counting({5, 2})}};
  const auto error = [&](const ConversionRule& rule) {
    return error_of([&] { mapper_by_rules({.rules = {RenameRule{"w", "v"}, rule}, .dtype = {}}, state); });
  };

  EXPECT_THAT(error(DropRule{"x.*"}), HasSubstr("rule 2 (drop): x.* matches no tensor; there are \"e.0\""));
  EXPECT_THAT(error(RenameRule{"v", "e.0"}), HasSubstr("rule 2 (rename): it makes \"e.0\", and there is"));
  EXPECT_THAT(error(RenameRule{"e.{n}", "all"}), HasSubstr("\"all\" is produced by two"));
  EXPECT_THAT(error(StackRule{"e.{e}", "all", 0}), HasSubstr("without 1; the next one is \"e.2\""));
  EXPECT_THAT(error(StackRule{"{e}", "all", 0}), HasSubstr("{e} is v, expected a number"));
  EXPECT_THAT(error(StackRule{"v", "all", 0}), HasSubstr("exactly one counts the tensors"));
  EXPECT_THAT(error(UnstackRule{"v", "p.{i}", 2}), HasSubstr("has shape [5, 2] and no dim 2"));
  EXPECT_THAT(error(ChunkRule{"v", {"a", "b", "c", "d"}, 0}), HasSubstr("rule 2 (chunk)"));
  EXPECT_THAT(error(ConcatenateRule{{"v", "u"}, "a", 0}), HasSubstr("\"v\" is there without \"u\""));
  EXPECT_THAT(error(TransposeRule{"v", {0, 2}}), HasSubstr("dim 2 is out of range"));
  EXPECT_THAT(error(CastRule{"w", Dtype::float16}), HasSubstr("w matches no tensor of the new folder"));
}

}  // namespace
}  // namespace d9d
