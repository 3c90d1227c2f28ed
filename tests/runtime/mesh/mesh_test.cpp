#include "runtime/mesh/mesh.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Mesh mesh_of_24({"pp", "dp", "tp"}, {2, 3, 4});

TEST(Mesh, NumbersRanksRowMajorWithTheLastAxisFastest) {
  EXPECT_THAT(mesh_of_24.coordinates(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(mesh_of_24.coordinates(17), ElementsAre(1, 1, 1));
  EXPECT_EQ(mesh_of_24.coordinate(17, "dp"), 1);
}

TEST(Mesh, NamesARankByItsCoordinatesOnTheAxesThatHaveSeveral) {
  EXPECT_EQ(mesh_of_24.label(17), "pp:1-dp:1-tp:1");
  EXPECT_EQ(Mesh({"pp", "dp", "tp"}, {1, 2, 3}).label(4), "dp:1-tp:1");
  EXPECT_EQ(Mesh({"pp", "dp"}, {1, 1}).label(0), "");
}

TEST(Mesh, FindsEveryRankAgainFromItsCoordinates) {
  for (int rank = 0; rank < mesh_of_24.size(); ++rank)
    EXPECT_EQ(mesh_of_24.rank(mesh_of_24.coordinates(rank)), rank);
}

TEST(Mesh, GroupsTheRanksThatDifferOnOneAxisOnly) {
  EXPECT_THAT(mesh_of_24.group(17, {"tp"}), ElementsAre(16, 17, 18, 19));
  EXPECT_THAT(mesh_of_24.group(17, {"dp"}), ElementsAre(13, 17, 21));
  EXPECT_THAT(mesh_of_24.group(17, {"pp"}), ElementsAre(5, 17));
}

TEST(Mesh, GroupsOverSeveralAxesAreAscendingInWhateverOrderTheyAreNamed) {
  EXPECT_THAT(mesh_of_24.group(17, {"pp", "dp"}), ElementsAre(1, 5, 9, 13, 17, 21));
  EXPECT_EQ(mesh_of_24.group(17, {"dp", "pp"}), mesh_of_24.group(17, {"pp", "dp"}));
  EXPECT_EQ(mesh_of_24.group_size({"dp", "pp"}), 6);
}

TEST(Mesh, AGroupOverNoAxisIsTheRankAlone) {
  EXPECT_THAT(mesh_of_24.group(7, {}), ElementsAre(7));
}

TEST(Mesh, GroupsPartitionTheRanks) {
  std::set<int> seen;

  for (const std::vector<int>& group : mesh_of_24.groups({"pp", "tp"})) {
    EXPECT_EQ(group, mesh_of_24.group(group.back(), {"pp", "tp"}));
    seen.insert(group.begin(), group.end());
  }

  EXPECT_EQ(static_cast<int>(seen.size()), mesh_of_24.size());
}

TEST(Mesh, NamesTheAxesThereAreWhenOneIsUnknown) {
  EXPECT_THAT(test::error_of([&] { mesh_of_24.group(0, {"ep"}); }, ErrorKind::input),
              HasSubstr("pp, dp, tp"));
}

}  // namespace
}  // namespace d9d
