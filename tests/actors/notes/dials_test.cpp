#include "actors/notes/dials.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(Dials, SayEveryReasonOnce) {
  Dials dials;
  dials.begin(2, {"10.0.0.3", 4711});

  EXPECT_TRUE(dials.failed(2, "no answer"));
  EXPECT_FALSE(dials.failed(2, "no answer"));
  EXPECT_TRUE(dials.failed(2, "Connection refused"));
}

TEST(Dials, NameAllThatHaveNotAnswered) {
  Dials dials;
  dials.begin(1, {"10.0.0.2", 1});
  dials.begin(2, {"fd00::3", 2});
  dials.begin(3, {"10.0.0.4", 3});
  dials.await(4, {"10.0.0.5", 4});
  dials.failed(2, "no answer");
  dials.answered(1);

  EXPECT_THAT(
      dials.missing(),
      ::testing::MatchesRegex("node 2 at \\[fd00::3\\]:2 \\(no answer\\), node 3 at 10.0.0.4:3 \\(it "
                              "takes connections but does not answer.*\\), node 4 at 10.0.0.5:4 \\(it has "
                              "not reached this node.*"));
  EXPECT_FALSE(dials.all_answered());
  dials.answered(2);
  dials.answered(3);
  dials.answered(4);
  EXPECT_TRUE(dials.all_answered());
}

}  // namespace
}  // namespace d9d
