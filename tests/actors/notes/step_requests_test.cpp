#include "actors/notes/step_requests.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

StepRequests with_checkpoints(RollBackLimits limits, const std::vector<std::uint64_t>& steps) {
  StepRequests requests(limits);
  for (const std::uint64_t step : steps) {
    requests.taken({step, {0}});
    requests.committed(step);
  }
  return requests;
}

std::uint64_t agreed_step(StepRequests& requests) {
  RankWishes wishes;
  requests.add_to(wishes);
  requests.agree(wishes);
  return requests.restore() ? requests.restore()->step : 0;
}

TEST(StepRequests, GoBackToTheNewestCheckpointOfBeforeTheStep) {
  StepRequests requests = with_checkpoints({.count_max = 2}, {4, 8, 12});
  requests.roll_back(12);
  requests.roll_back(13);  // of the next step, which went wrong as well

  EXPECT_EQ(agreed_step(requests), 8U);
  requests.restored(14);
  EXPECT_EQ(requests.roll_backs(), 1U);
  requests.roll_back(14);  // gone
  EXPECT_EQ(agreed_step(requests), 0U);
  requests.committed(12);
  requests.roll_back(15);
  EXPECT_EQ(agreed_step(requests), 8U) << "what was saved from the spike on is not gone back to";
}

TEST(StepRequests, EndTheJobWhereThereIsNothingToGoBackToOrTooOften) {
  StepRequests requests = with_checkpoints({.count_max = 1, .kept = 1}, {4, 8});
  EXPECT_THAT(test::error_of([&] { requests.roll_back(7); }), HasSubstr("raise num_to_keep"));
  requests.roll_back(9);
  EXPECT_EQ(agreed_step(requests), 8U);
  requests.restored(9);

  EXPECT_THAT(test::error_of([&] { requests.roll_back(11); }), HasSubstr("has gone back 1 time already"));
}

TEST(StepRequests, TextsAreMadeInTheirOrderWhenAllAgreeAndTheyHaveCome) {
  StepRequests requests({});
  RankWishes wishes;
  wishes.texts = 2;
  requests.add({.number = 2, .asker = {}, .request = {}});
  EXPECT_FALSE(requests.texts_due());
  requests.agree(wishes);

  EXPECT_TRUE(requests.texts_due());
  EXPECT_EQ(requests.next_texts(), nullptr);
  requests.add({.number = 1, .asker = {}, .request = {}});
  EXPECT_EQ(requests.next_texts()->number, 1U);
  requests.texts_made();
  EXPECT_EQ(requests.next_texts()->number, 2U);
  requests.texts_made();
  EXPECT_FALSE(requests.texts_due());
}

TEST(StepRequests, TheReasonOfAnEndIsTextWhateverItsBytesAre) {
  StepRequests requests({});

  requests.end("guard: \xff\u00fc");
  requests.end("another");

  EXPECT_EQ(requests.why_it_ends(), "guard: \uFFFD\u00fc");
}

}  // namespace
}  // namespace d9d
