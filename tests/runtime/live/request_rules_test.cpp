#include "runtime/live/request_rules.hpp"

#include <gmock/gmock.h>

namespace d9d::live {
namespace {

using testing::HasSubstr;

const Rules with_token{.own_host = "trainer.example", .token = "open sesame"};
const Rules without_token{.own_host = "0.0.0.0"};

Asked look(const std::string& host) {
  return {.host = host};
}

Asked act(bool from_loopback) {
  return {.acts = true, .host = "10.0.0.1:8080", .from_loopback = from_loopback};
}

int status_of(const Asked& asked, const Rules& rules = with_token) {
  const auto refused = refusal(asked, rules);
  return refused ? refused->status : 200;
}

TEST(RequestRules, AnAddressLocalhostAndTheNameOfTheJobFileMeanThisPage) {
  for (const char* host : {"127.0.0.1:8095", "10.1.2.3", "[::1]:8095", "[fd00::1]", "localhost",
                           "LocalHost:80", "localhost.", "trainer.example:8095", "TRAINER.example."})
    EXPECT_TRUE(means_this_page(host, "trainer.example")) << host;
}

TEST(RequestRules, ANameThatAnybodyMayPointHereDoesNot) {
  for (const char* host :
       {"evil.example:8095", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:127.0.0.1",
        "[evil.example]", "[::1", "[::1]evil.example", "::1", "127.0.0.1:80@evil.example", "127.0.0.1:8o",
        " localhost", "", ":80", "not-localhost", "trainer.example.evil"})
    EXPECT_FALSE(means_this_page(host, "trainer.example")) << host;
  EXPECT_FALSE(means_this_page("evil.example", "0.0.0.0"));
}

TEST(RequestRules, RefuseAForeignHostToEverybody) {
  EXPECT_EQ(status_of(look("127.0.0.1:8095")), 200);
  EXPECT_EQ(status_of(look("evil.example:8095")), 421);
  EXPECT_EQ(status_of(look("")), 400);
  Asked asked = act(true);
  asked.host = "evil.example:8095";
  asked.origin = "http://evil.example:8095";
  asked.authorization = "Bearer open sesame";
  EXPECT_EQ(status_of(asked), 421);
}

TEST(RequestRules, AnybodyMayLookAndThisHostMayAct) {
  EXPECT_EQ(status_of(look("10.0.0.1:8080")), 200);
  EXPECT_EQ(status_of(act(true)), 200);
  EXPECT_EQ(status_of(act(true), without_token), 200);
}

TEST(RequestRules, FromOtherHostsAnActTakesTheJobsToken) {
  const auto with = [](const std::string& authorization) {
    Asked asked = act(false);
    asked.authorization = authorization;
    return asked;
  };
  EXPECT_EQ(status_of(with("Bearer open sesame")), 200);
  EXPECT_EQ(status_of(with("bearer open sesame")), 200);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer open", "Bearer open sesame ",
                            "Bearer Open sesame", "open sesame", "Basic open sesame"})
    EXPECT_EQ(status_of(with(wrong)), 403) << wrong;
  EXPECT_THAT(refusal(with("Bearer guess"), with_token)->body, HasSubstr("Authorization: Bearer"));
}

TEST(RequestRules, WithoutATokenOfTheJobNoneIsRight) {
  for (const char* authorization : {"", "Bearer ", "Bearer open sesame"}) {
    Asked asked = act(false);
    asked.authorization = authorization;
    EXPECT_EQ(status_of(asked, without_token), 403) << authorization;
    EXPECT_THAT(refusal(asked, without_token)->body, HasSubstr("has no node.job_token"));
  }
}

TEST(RequestRules, AProxyOnThisHostSpeaksForSomebodyElse) {
  Asked asked = act(true);
  asked.is_passed_on = true;
  EXPECT_EQ(status_of(asked), 403);
  EXPECT_FALSE(may_act(asked, with_token));
}

TEST(RequestRules, AButtonOfAnotherPageIsRefused) {
  Asked asked = act(true);
  for (const char* origin :
       {"http://elsewhere.example", "null", "http://10.0.0.1", "http://10.0.0.1:8080.evil.example"}) {
    asked.origin = origin;
    EXPECT_EQ(status_of(asked), 403) << origin;
  }
  for (const char* origin : {"http://10.0.0.1:8080", "https://10.0.0.1:8080"}) {
    asked.origin = origin;
    EXPECT_EQ(status_of(asked), 200) << origin;
  }
}

}  // namespace
}  // namespace d9d::live
