#include "actors/notes/failure_text.hpp"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

std::string text_of(const char* text, wire::Failed::Kind kind, const char* actor, int rank) {
  capnp::MallocMessageBuilder message;
  auto failed = message.initRoot<wire::Failed>();
  failed.setKind(kind);
  failed.setText(text);
  failed.setActor(actor);
  failed.setRank(rank);
  failed.setStep(7);
  failed.setMessage("BeginStep");
  return failure_text(failed.asReader());
}

TEST(FailureText, BeginsWithTheCauseAsOneSentence) {
  const auto text = [](const char* cause) {
    return text_of(cause, wire::Failed::Kind::INPUT, "checkpoint_writer/1", -1);
  };
  const std::string place = " In the checkpoint writer of node 1, step 7.";
  EXPECT_EQ(text("no such file"), "no such file." + place);
  EXPECT_EQ(text("no such file.\n"), "no such file." + place);
  EXPECT_EQ(text("no rule: did you mean \"norm\"?"), "no rule: did you mean \"norm\"?" + place);
}

TEST(FailureText, NamesNoPlaceWhereNoActorFailed) {
  EXPECT_EQ(text_of("the connection ended", wire::Failed::Kind::ENVIRONMENT, "", -1),
            "the connection ended.");
}

TEST(FailureText, SaysForABugWhichMessageWasHandled) {
  EXPECT_EQ(
      text_of("boom", wire::Failed::Kind::BUG, "rank_executor/2", 2),
      "bug: boom. In the rank executor of rank 2, step 7, in rank_executor/2 while handling BeginStep.");
}

}  // namespace
}  // namespace d9d
