// The printed forms of a SlowStep.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/trace/steps/slow_step.hpp"
#include "tests/runtime/trace/two_ranks.hpp"

namespace d9d::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SlowStepReport, SaysWhatTookLongerInASentenceAndInATable) {
  Story story;
  for (const int step : {1, 2, 3}) add_step(story, step, 1000 * step, step == 3 ? 400 : 150);
  const Recording recording = story.tell();

  const std::string text = to_text(explain_step(recording, std::nullopt), 3);

  EXPECT_THAT(text,
              AllOf(HasSubstr("step 3 took 0.439 ms; the last rank to end it was 0. The median of 3 steps"),
                    HasSubstr("Most of what it took longer is compute of rank 1, compute stage 0: 0.399 ms "
                              "instead of 0.149.\n"),
                    HasSubstr("     0.399      0.149     +0.250  compute        rank 1, compute stage 0\n"),
                    HasSubstr("and 6 more"), HasSubstr("rank 1, compute stage 0: 0F0"),
                    HasSubstr("rank 1 in 3 steps, then 2.33 x the median rank")));
}

TEST(SlowStepReport, OfOneStepComparesWithNothing) {
  Story story;
  const Recording recording = add_step(story, 1, 0, 200).tell();

  const std::string text = to_text(explain_step(recording, std::nullopt));

  EXPECT_THAT(text, AllOf(HasSubstr("Most of its time is compute of rank 1"), Not(HasSubstr("median of")),
                          Not(HasSubstr("instead of"))));
}

TEST(SlowStepReport, JsonHasEveryPart) {
  Story story;
  const Recording recording = add_step(story, 1, 0, 200).tell();
  const SlowStep slow = explain_step(recording, 1);

  const auto json = nlohmann::json::parse(to_json(slow));

  EXPECT_EQ(json["path"]["parts"].size(), slow.path.parts.size());
  EXPECT_EQ(json["path"]["parts"][0]["start_ns"], 0);
  EXPECT_EQ(json["path"]["ns"], slow.path.length());
  EXPECT_TRUE(json["usual"].is_null());
  EXPECT_EQ(json["shares"].size(), slow.shares.size());
  EXPECT_EQ(json["stragglers"][0]["rank"], 1);
}

}  // namespace
}  // namespace d9d::trace
