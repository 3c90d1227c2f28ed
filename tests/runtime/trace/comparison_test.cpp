#include "runtime/trace/comparison.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/trace/two_ranks.hpp"

namespace d9d::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Analysis run_of(int slow, int steps) {
  Story story;
  for (int step = 1; step <= steps; ++step) add_step(story, step, 1000 * step, slow);
  return analyze(story.tell());
}

TEST(Comparison, ShowsMeansOfAStepOfBothRuns) {
  const std::string text = compare(run_of(300, 2), run_of(100, 4));

  // Compute: (100 + 300) / 2 us against 100.
  EXPECT_THAT(text, AllOf(HasSubstr("2 steps against 4 steps"),
                          HasSubstr("       0.200        0.100       +0.100    2.000 x  compute\n")));
}

Analysis run_of_two_actors(int reader, int writer) {
  Story story;
  story.on("reader/0", 0).message("go", 0, 0, reader);
  story.on("writer/0", 0).message("go", 0, 0, writer);
  story.on("steps", 0).span(Category::step, "step", 0, 500, 1);
  return analyze(story.tell());
}

TEST(Comparison, TheActorThatChangedMostComesFirst) {
  const std::string text = compare(run_of_two_actors(310, 100), run_of_two_actors(300, 150), 1);

  const std::string actors = text.substr(text.find("busy time of an actor"));
  EXPECT_THAT(actors, HasSubstr("       0.100        0.150       -0.050    0.667 x  writer/0@0\n"));
  EXPECT_EQ(std::count(actors.begin(), actors.end(), '\n'), 2);
}

TEST(Comparison, AnActorOfOneRunCountsAsNothingInTheOther) {
  Story alone;
  alone.on("trainer/0", 0).message("go", 0, 0, 100);
  alone.on("steps", 0).span(Category::step, "step", 0, 100, 1);
  Story other;
  other.on("reader/0", 0).message("go", 0, 0, 50);
  other.on("steps", 0).span(Category::step, "step", 0, 50, 1);

  const std::string text = compare(analyze(alone.tell()), analyze(other.tell()));

  EXPECT_THAT(text, AllOf(HasSubstr("       0.100        0.000       +0.100          -  trainer/0@0\n"),
                          HasSubstr("       0.000        0.050       -0.050    0.000 x  reader/0@0\n")));
}

}  // namespace
}  // namespace d9d::trace
