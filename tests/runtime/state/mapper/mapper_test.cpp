#include <gtest/gtest.h>

#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/state/mapper/stack.hpp"
#include "tests/runtime/state/expect.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using testing::HasSubstr;
using Groups = std::set<StateGroup>;

TEST(Mapper, IdentityKeepsNameAndTensor) {
  const auto mapper = identity("a");
  const auto tensor = counting({2});

  const auto made = mapper->apply({{"a", tensor}});

  EXPECT_EQ(mapper->groups(), (Groups{{{"a"}, {"a"}}}));
  EXPECT_TRUE(made.at("a").is_same(tensor));
}

TEST(Mapper, RenameChangesTheNameOnly) {
  const auto mapper = rename("a", "b");
  const auto tensor = counting({2});

  const auto made = mapper->apply({{"a", tensor}});

  EXPECT_EQ(mapper->groups(), (Groups{{{"a"}, {"b"}}}));
  EXPECT_TRUE(made.at("b").is_same(tensor));
}

TEST(Mapper, CopiesAreTheSameTensorUnderEachName) {
  const auto mapper = copies("a", {"a", "b"});
  const auto tensor = counting({2, 3});
  const Slice part{{1, 0}, {2, 3}};

  const auto made = mapper->apply({{"a", tensor}});
  const auto pieces = mapper->trace("b", part, {{"a", tensor}});

  EXPECT_EQ(mapper->groups(), (Groups{{{"a"}, {"a", "b"}}}));
  EXPECT_TRUE(made.at("a").is_same(tensor));
  EXPECT_TRUE(made.at("b").is_same(tensor));
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 1U);
  EXPECT_EQ(pieces->front().input, "a");
  EXPECT_EQ(pieces->front().from.begin, part.begin);
  EXPECT_THAT(error_of([] { copies("a", {"b", "b"}); }), HasSubstr("\"b\""));
}

TEST(Mapper, SelectChildModulesDropsTheParent) {
  const auto mapper = select_child_modules({"x.weight", "y"}, "model");

  EXPECT_EQ(mapper->groups(), (Groups{{{"model.x.weight"}, {"x.weight"}}, {{"model.y"}, {"y"}}}));
  EXPECT_TRUE(mapper->apply({{"model.y", counting({1})}}).contains("y"));
}

TEST(Mapper, StackTakesSourcesInTheGivenOrder) {
  const auto mapper = stack({"b", "a"}, "both", 1);

  const auto made = mapper->apply({{"a", counting({2, 3})}, {"b", counting({2, 3}) + 10}}).at("both");

  EXPECT_EQ(mapper->groups(), (Groups{{{"a", "b"}, {"both"}}}));
  EXPECT_EQ(made.sizes(), at::IntArrayRef({2, 2, 3}));
  EXPECT_TRUE(made.is_contiguous());
  EXPECT_TRUE(same(made.select(1, 0), counting({2, 3}) + 10));
  EXPECT_TRUE(same(made.select(1, 1), counting({2, 3})));
}

TEST(Mapper, UnstackNamesEveryPart) {
  const auto made = unstack("x", {"a", "b"}, -1)->apply({{"x", counting({3, 2})}});

  EXPECT_TRUE(same(made.at("a"), counting({3}) * 2));
  EXPECT_TRUE(same(made.at("b"), counting({3}) * 2 + 1));
  EXPECT_TRUE(made.at("b").is_contiguous());
}

TEST(Mapper, UnstackNeedsOneTargetForEachPart) {
  const auto mapper = unstack("x", {"a", "b"}, 0);

  EXPECT_THAT(error_of([&] {
                mapper->apply({{"x", counting({3, 2})}});
              }),
              HasSubstr("3 parts along dim 0, but 2 targets"));
}

TEST(Mapper, ChunkCutsNearlyEqualPieces) {
  const auto made = chunk("x", {"a", "b"}, 0)->apply({{"x", counting({5})}});

  EXPECT_TRUE(same(made.at("a"), counting({3})));
  EXPECT_TRUE(same(made.at("b"), counting({2}) + 3));
}

TEST(Mapper, CutGivesPiecesOfTheirSizes) {
  const auto mapper = cut("x", {{"b", 1}, {"a", 4}}, 0);
  const auto made = mapper->apply({{"x", counting({5})}});

  EXPECT_TRUE(same(made.at("b"), counting({1})));
  EXPECT_TRUE(same(made.at("a"), counting({4}) + 1));
  EXPECT_THAT(error_of([&] {
                mapper->apply({{"x", counting({6})}});
              }),
              HasSubstr("other than the 5 elements of its pieces"));
}

TEST(Mapper, CutTracesWhatAPieceShows) {
  const auto mapper = cut("x", {{"b", 1}, {"a", 4}}, 0);

  const auto pieces = mapper->trace("a", {{1, 0}, {3, 2}}, {{"x", counting({5, 2})}});

  ASSERT_TRUE(pieces && pieces->size() == 1);
  EXPECT_EQ(pieces->front().from.begin, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(pieces->front().from.end, (std::vector<std::int64_t>{4, 2}));
}

TEST(Mapper, ChunkNeedsAsManyPiecesAsTargets) {
  const auto mapper = chunk("x", {"a", "b", "c", "d"}, 0);

  EXPECT_THAT(error_of([&] {
                mapper->apply({{"x", counting({6})}});
              }),
              HasSubstr("gives 3 pieces along dim 0, but 4"));
}

TEST(Mapper, ConcatenateJoinsInTheGivenOrder) {
  const auto mapper = concatenate({"b", "a"}, "x", 1);

  const auto made = mapper->apply({{"a", counting({2, 1})}, {"b", counting({2, 2}) + 5}}).at("x");

  EXPECT_EQ(mapper->groups(), (Groups{{{"a", "b"}, {"x"}}}));
  EXPECT_TRUE(same(made.narrow(1, 0, 2), counting({2, 2}) + 5));
  EXPECT_TRUE(same(made.narrow(1, 2, 1), counting({2, 1})));
}

TEST(Mapper, ConcatenateNamesTheShapeThatDoesNotFit) {
  const auto mapper = concatenate({"a", "b"}, "x", 0);

  EXPECT_THAT(error_of([&] {
                mapper->apply({{"a", counting({2, 3})}, {"b", counting({2, 4})}});
              }),
              HasSubstr("\"b\""));
  EXPECT_THAT(error_of([&] {
                mapper->apply({{"a", counting({2})}, {"b", counting({2}, at::kInt)}});
              }),
              HasSubstr("Int"));
}

TEST(Mapper, TransposeGivesContiguousMemory) {
  const auto made = transpose("x", 0, -1)->apply({{"x", counting({2, 3, 4})}}).at("x");

  EXPECT_TRUE(same(made, counting({2, 3, 4}).transpose(0, 2)));
  EXPECT_TRUE(made.is_contiguous());
}

TEST(Mapper, SqueezeAndUnsqueezeMoveDimsOfSizeOne) {
  const auto x = counting({1, 3, 1});

  EXPECT_EQ(squeeze("x", 0)->apply({{"x", x}}).at("x").sizes(), at::IntArrayRef({3, 1}));
  EXPECT_EQ(squeeze("x", 1)->apply({{"x", x}}).at("x").sizes(), at::IntArrayRef({1, 3, 1}));
  EXPECT_EQ(squeeze("x")->apply({{"x", x}}).at("x").sizes(), at::IntArrayRef({3}));
  EXPECT_EQ(unsqueeze("x", -1)->apply({{"x", x}}).at("x").sizes(), at::IntArrayRef({1, 3, 1, 1}));
  EXPECT_THAT(error_of([&] { unsqueeze("x", 4)->apply({{"x", x}}); }), HasSubstr("dim 4 is out of range"));
}

TEST(Mapper, ParallelIsTheUnionOfItsGroups) {
  const auto mapper = parallel({rename("a", "b"), parallel({}), stack({"c", "d"}, "e", 0)});

  EXPECT_EQ(mapper->groups(), (Groups{{{"a"}, {"b"}}, {{"c", "d"}, {"e"}}}));
  EXPECT_TRUE(same(mapper->apply({{"a", counting({1})}}).at("b"), counting({1})));
  EXPECT_EQ(mapper->apply({{"c", counting({1})}, {"d", counting({1})}}).at("e").dim(), 2);
}

TEST(Mapper, ParallelRefusesInputsUsedTwiceAndOutputsMadeTwice) {
  EXPECT_THAT(error_of([] { parallel({rename("a", "b"), rename("a", "c")}); }), HasSubstr("input \"a\""));
  EXPECT_THAT(error_of([] { parallel({rename("a", "c"), rename("b", "c")}); }), HasSubstr("output \"c\""));
  EXPECT_THAT(error_of([] { parallel({identity("a"), identity("a")}); }), HasSubstr("\"a\""));
}

TEST(Mapper, AppliesExactlyOneGroup) {
  const auto mapper = parallel({rename("a", "b"), stack({"c", "d"}, "e", 0)});
  const auto x = counting({1});

  EXPECT_THAT(error_of([&] { mapper->apply({{"c", x}}); }), HasSubstr("\"c\", \"d\""));
  EXPECT_THAT(error_of([&] { mapper->apply({{"a", x}, {"c", x}, {"d", x}}); }), HasSubstr("not a group"));
  EXPECT_THAT(error_of([&] { mapper->apply({}); }), HasSubstr("nothing is not a group"));
  EXPECT_THAT(error_of([&] { mapper->apply({{"z", x}}); }), HasSubstr("\"z\""));
}

TEST(Mapper, SequentialChains) {
  const auto mapper = sequential({stack({"a", "b"}, "x", 0), transpose("x", 0, 1), rename("x", "y")});

  const auto made = mapper->apply({{"a", counting({3})}, {"b", counting({3}) + 3}}).at("y");

  EXPECT_EQ(mapper->groups(), (Groups{{{"a", "b"}, {"y"}}}));
  EXPECT_TRUE(same(made, counting({2, 3}).transpose(0, 1)));
}

TEST(Mapper, SequentialBridgesNamesInBothDirections) {
  const auto mapper = sequential({rename("a", "b"), stack({"b", "late"}, "x", 0), identity("x")});
  const auto passing = sequential({parallel({rename("a", "b"), rename("c", "early")}), rename("b", "x")});

  EXPECT_EQ(mapper->groups(), (Groups{{{"a", "late"}, {"x"}}}));
  EXPECT_EQ(passing->groups(), (Groups{{{"a"}, {"x"}}, {{"c"}, {"early"}}}));
  EXPECT_TRUE(passing->apply({{"c", counting({1})}}).contains("early"));
}

TEST(Mapper, SequentialMergesGroupsThatShareANameOnTheWay) {
  const auto mapper =
      sequential({unstack("x", {"a", "b"}, 0), parallel({rename("a", "p"), stack({"b", "c"}, "q", 0)}),
                  parallel({identity("p"), identity("q"), rename("d", "r")})});

  EXPECT_EQ(mapper->groups(), (Groups{{{"x", "c"}, {"p", "q"}}, {{"d"}, {"r"}}}));
  const auto made = mapper->apply({{"x", counting({2, 1})}, {"c", counting({1}) + 7}});
  EXPECT_TRUE(same(made.at("p"), counting({1})));
  EXPECT_EQ(made.at("q").sizes(), at::IntArrayRef({2, 1}));
}

TEST(Mapper, SequentialRefusesAnEmptyListAndNamesConsumedTooEarly) {
  EXPECT_THAT(error_of([] { sequential({}); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] {
                sequential({rename("a", "b"), stack({"a", "b"}, "x", 0)});
              }),
              HasSubstr("\"a\""));
  EXPECT_THAT(error_of([] { sequential({identity("keep"), rename("a", "keep")}); }), HasSubstr("\"keep\""));
}

TEST(Mapper, ShardsTakeTurnsInSortedOrderAndLeaveNothingOut) {
  const auto mapper = identities({"a", "b", "c", "d", "e"});

  EXPECT_EQ(outputs_of(*shard(mapper, 2, 0)), (Names{"a", "c", "e"}));
  EXPECT_EQ(outputs_of(*shard(mapper, 2, 1)), (Names{"b", "d"}));
  EXPECT_TRUE(shard(mapper, 2, 1)->apply({{"b", counting({1})}}).contains("b"));
  EXPECT_THAT(error_of([&] { shard(mapper, 2, 2); }), HasSubstr("2 of 2"));
  EXPECT_THAT(error_of([&] { shard(mapper, 2, 1)->apply({{"a", counting({1})}}); }), HasSubstr("\"a\""));
}

TEST(Mapper, PrefixScopeAddsTwoDifferentPrefixes) {
  const auto mapper = prefix_scope(stack({"a", "b"}, "x", 0), "model.", "net.inner.");

  EXPECT_EQ(mapper->groups(), (Groups{{{"model.a", "model.b"}, {"net.inner.x"}}}));
  EXPECT_TRUE(
      mapper->apply({{"model.a", counting({1})}, {"model.b", counting({1})}}).contains("net.inner.x"));
}

TEST(Mapper, FilterEmptyDropsMappersThatNameNothing) {
  const auto kept = filter_empty({parallel({}), identity("a"), identities({}), shard(identity("b"), 2, 1)});

  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(outputs_of(*kept[0]), (Names{"a"}));
}

TEST(Mapper, AdaptersMakeIdentitiesOfAStateAndOfAnotherMapper) {
  EXPECT_EQ(identities_of({{"a", counting({1})}, {"b", counting({1})}})->groups(),
            (Groups{{{"a"}, {"a"}}, {{"b"}, {"b"}}}));
  EXPECT_EQ(identities_of_outputs(*unstack("x", {"p", "q"}, 0))->groups(),
            (Groups{{{"p"}, {"p"}}, {{"q"}, {"q"}}}));
}

TEST(Mapper, OfTheWholeModelIsRestrictedToAStage) {
  const auto whole_model =
      parallel({unstack("fused", {"e0", "e1"}, 0), rename("n", "norm"), stack({"g", "u"}, "gu", 0)});

  const auto stage = restrict_to_outputs(whole_model, {"e1", "gu", "of another stage"});

  EXPECT_EQ(stage->groups(), (Groups{{{"fused"}, {"e1"}}, {{"g", "u"}, {"gu"}}}));
  const auto made = stage->apply({{"fused", counting({2, 1})}});
  EXPECT_EQ(made.size(), 1U);
  EXPECT_TRUE(same(made.at("e1"), counting({1}) + 1));
}

TEST(Mapper, IsRestrictedToTheInputsOfAStageAndNamesTheHalfGroup) {
  const auto whole_model = parallel({rename("n", "norm"), stack({"g", "u"}, "gu", 0)});

  EXPECT_EQ(outputs_of(*restrict_to_inputs(whole_model, {"g", "u"})), (Names{"gu"}));
  EXPECT_THAT(error_of([&] { restrict_to_inputs(whole_model, {"n", "g"}); }), HasSubstr("\"u\""));
}

}  // namespace
}  // namespace d9d
