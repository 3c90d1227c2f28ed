#include "runtime/task/rank_events.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RankEvents, CallSubscribersInTheirOrderWithTheContext) {
  RankEvents events(3, false);
  std::vector<std::string> heard;
  for (const char* who : {"a", "b"}) {
    events.on<events::StepPost>(who, [&heard, who](const events::StepPost& post) {
      heard.push_back(who + std::to_string(post.step) + (post.loss == 2.5 ? "!" : ""));
    });
  }

  EXPECT_TRUE(events.wanted<events::StepPost>());
  EXPECT_FALSE(events.wanted<events::StepPre>());
  events.tell(events::StepPost{.step = 7, .loss = 2.5});
  events.tell(events::StepPre{8});

  EXPECT_THAT(heard, ElementsAre("a7!", "b7!"));
}

TEST(RankEvents, GoOnWhenASubscriberThrowsOrComesLate) {
  RankEvents events(0, false);
  int heard = 0;
  events.on<events::StepPre>("bad", [](const events::StepPre&) { throw std::runtime_error("no"); });
  events.on<events::StepPre>("late", [&](const events::StepPre&) {
    events.on<events::StepPre>("late", [](const events::StepPre&) {});
  });
  events.on<events::StepPre>("good", [&](const events::StepPre&) { ++heard; });
  events.close();

  events.tell(events::StepPre{1});
  events.tell(events::StepPre{2});

  EXPECT_EQ(heard, 2);
  EXPECT_THAT(test::error_of([&] { events.on<events::StepPre>("me", {}); }),
              HasSubstr("me subscribes to train.step.pre too late"));
}

// LOOP-30
TEST(RankEvents, FailWithASubscriberThatSaysSo) {
  RankEvents events(2, false);
  int heard = 0;
  events.on<events::StepPre>(
      "guard", [](const events::StepPre&) { throw std::runtime_error("the loss is nonsense"); },
      OnThrow::ends_job);
  events.on<events::StepPre>("later", [&](const events::StepPre&) { ++heard; });

  EXPECT_THAT(test::error_of([&] { events.tell(events::StepPre{1}); }),
              HasSubstr("guard threw in train.step.pre on rank 2: the loss is nonsense"));
  EXPECT_EQ(heard, 0) << "subscribers after it do not hear the event";
}

TEST(RankEvents, KeepTheFirstReasonToEndUntilItIsTaken) {
  const RankEvents events(1, false);
  EXPECT_EQ(events.take_end(), "");

  events.end_job("the task", "good enough");
  events.end_job("the model", "another reason");

  EXPECT_EQ(events.take_end(), "the task on rank 1: good enough");
  EXPECT_EQ(events.take_end(), "");
}

TEST(RankEvents, RefuseWhatTheJobDoesNotHave) {
  RankEvents events(0, true);

  EXPECT_THAT(test::error_of([&] { events.on<events::OptimizerStepPre>("me", {}); }),
              HasSubstr("me subscribes to an event that this job does not have"));
}

}  // namespace
}  // namespace d9d
