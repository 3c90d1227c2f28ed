#include "runtime/net/secrets.hpp"

#include <gmock/gmock.h>

namespace d9d::net {
namespace {

using testing::HasSubstr;

const Secret users_token{SecretKind::token, "open sesame"};

TEST(Secrets, OfAProcessThatAwaitsItsMembershipLetItJoinAlone) {
  Secrets secrets(users_token, true);
  EXPECT_EQ(secrets.key_for(Purpose::joining), key_of(users_token));
  EXPECT_FALSE(secrets.key_for(Purpose::actors));
  EXPECT_FALSE(secrets.key_for(Purpose::tensors));
  EXPECT_FALSE(secrets.is_member());

  secrets.enter_membership("formed");

  EXPECT_TRUE(secrets.is_member());
  EXPECT_EQ(secrets.key_for(Purpose::joining), key_of(users_token));
  for (const Purpose purpose : {Purpose::actors, Purpose::tensors})
    EXPECT_EQ(secrets.key_for(purpose), member_key_of(key_of(users_token), "formed"));
}

TEST(Secrets, OfAnotherStartOfTheJobAreOthers) {
  Secrets first(users_token, true), second(users_token, true);
  first.enter_membership("first");
  second.enter_membership("second");

  EXPECT_NE(first.key_for(Purpose::actors), second.key_for(Purpose::actors));
}

TEST(Secrets, SayWhyAProofIsWrong) {
  const auto why = [](SecretKind here, SecretKind there, Purpose purpose = Purpose::joining) {
    return Secrets({here, "x"}).why_stranger({.purpose = purpose, .secret = there});
  };
  constexpr auto none = SecretKind::none, given = SecretKind::token, command = SecretKind::command;

  EXPECT_EQ(why(given, given), "the job token (node.job_token) differs");
  EXPECT_THAT(why(given, none),
              HasSubstr("the job has a job token (node.job_token_file, D9D_JOB_TOKEN), and it"));
  EXPECT_THAT(why(none, given),
              HasSubstr("it gives a job token (node.job_token_file, D9D_JOB_TOKEN), and the job"));
  EXPECT_EQ(why(none, none), "it says again what was said on another connection");
  EXPECT_THAT(why(command, given), HasSubstr("all started by one command"));
  EXPECT_THAT(why(none, command), HasSubstr("another job"));
  EXPECT_THAT(why(given, given, Purpose::tensors), HasSubstr("another start of this one"));
}

}  // namespace
}  // namespace d9d::net
