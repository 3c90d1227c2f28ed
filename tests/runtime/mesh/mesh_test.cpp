#include "runtime/mesh/mesh.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Mesh kMesh({"pp", "dp", "tp"}, {2, 3, 4});

TEST(Mesh, NumbersRanksRowMajorWithTheLastAxisFastest) {
  EXPECT_THAT(kMesh.coordinates(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(kMesh.coordinates(17), ElementsAre(1, 1, 1));
  EXPECT_EQ(kMesh.coordinate(17, "dp"), 1);
  EXPECT_EQ(kMesh.label(17), "pp:1-dp:1-tp:1");
}

TEST(Mesh, FindsEveryRankAgainFromItsCoordinates) {
  for (int rank = 0; rank < kMesh.size(); ++rank) EXPECT_EQ(kMesh.rank(kMesh.coordinates(rank)), rank);
}

TEST(Mesh, GroupsTheRanksThatDifferOnOneAxisOnly) {
  EXPECT_THAT(kMesh.group(17, {"tp"}), ElementsAre(16, 17, 18, 19));
  EXPECT_THAT(kMesh.group(17, {"dp"}), ElementsAre(13, 17, 21));
  EXPECT_THAT(kMesh.group(17, {"pp"}), ElementsAre(5, 17));
}

TEST(Mesh, GroupsOverSeveralAxesAreAscendingInWhateverOrderTheyAreNamed) {
  EXPECT_THAT(kMesh.group(17, {"pp", "dp"}), ElementsAre(1, 5, 9, 13, 17, 21));
  EXPECT_EQ(kMesh.group(17, {"dp", "pp"}), kMesh.group(17, {"pp", "dp"}));
  EXPECT_EQ(kMesh.group_size({"dp", "pp"}), 6);
}

TEST(Mesh, AGroupOverNoAxisIsTheRankAlone) {
  EXPECT_THAT(kMesh.group(7, {}), ElementsAre(7));
}

TEST(Mesh, GroupsPartitionTheRanks) {
  std::set<int> seen;

  for (const std::vector<int>& group : kMesh.groups({"pp", "tp"})) {
    EXPECT_EQ(group, kMesh.group(group.back(), {"pp", "tp"}));
    seen.insert(group.begin(), group.end());
  }

  EXPECT_EQ(static_cast<int>(seen.size()), kMesh.size());
}

TEST(Mesh, NamesTheAxesThereAreWhenOneIsUnknown) {
  try {
    kMesh.group(0, {"ep"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.what(), HasSubstr("pp, dp, tp"));
  }
}

}  // namespace
}  // namespace d9d
