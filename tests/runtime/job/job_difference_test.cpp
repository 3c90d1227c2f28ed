#include "runtime/job/job_difference.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string told_of(const std::string& mine, const std::string& theirs) {
  return told(key_differences(mine, theirs), "here", "there");
}

TEST(JobDifference, NamesKeysByTheirPathWithBothValues) {
  EXPECT_EQ(told_of(R"({"a":{"b":[1,2]},"c":"x"})", R"({"a":{"b":[1,3]},"c":"x"})"),
            "a.b.1 (2 here, 3 there)");
  EXPECT_EQ(told_of(R"({"a":null,"b":1})", R"({"a":{"c":1},"b":1})"), "a (null here, {\"c\":1} there)");
  EXPECT_EQ(told_of(R"({"a":1})", R"({"a":1})"), "");
}

// A job that evaluates only now has some ten keys more, which must not hide what else has changed.
TEST(JobDifference, ASectionThatOneSideHasHidesNothing) {
  const JobConfig job = testing_job::load().job;
  const JobConfig now =
      testing_job::load(
          {"evaluation={period_steps: 2, batches: 1, data: {source: synthetic, sequence_length: 8, "
           "vocab_size: 16}}",
           "optimizer.lr=0.25"})
          .job;

  EXPECT_THAT(told(differences_since(resolved_keys(job), now), "now", "then"),
              AllOf(HasSubstr("evaluation ({\"data\":{"), HasSubstr("null then"),
                    HasSubstr("optimizer.lr (0.25 now, 0.0003 then)"), Not(HasSubstr("more"))));
}

TEST(JobDifference, StopsAfterSome) {
  EXPECT_THAT(told_of(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1})", "{}"),
              AllOf(HasSubstr("e (1 here"), Not(HasSubstr("f (1")), HasSubstr(" and 2 more")));
}

TEST(JobDifference, LeavesOutTheNodeAndHidesSecretsButSeesThatTheyDiffer) {
  const auto keys = [](const char* password) {
    return shared_keys(config::Json{{"node", {{"job_token", "x"}}},
                                    {"actors", {{{"api_key", password}, {"eos_token", "</s>"}}}}});
  };

  EXPECT_THAT(keys("hunter2"),
              AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("job_token")), HasSubstr("</s>")));
  EXPECT_EQ(told_of(keys("hunter2"), keys("123456")), "actors.0.api_key ((hidden) here, (hidden) there)");
  EXPECT_EQ(told_of(keys("hunter2"), keys("hunter2")), "");
}

// As an earlier version may have written it, that had no deadline for exports.
config::Json without_export_timeout() {
  config::Json keys = resolved_keys(testing_job::load().job);
  keys["trainer"]["timeout"].erase("export_timeout");
  return keys;
}

TEST(JobDifference, AKeyThatDidNotExistThenAndHasItsDefaultIsNoDifference) {
  EXPECT_EQ(told(differences_since(without_export_timeout(), testing_job::load().job), "now", "then"), "");
}

TEST(JobDifference, AKeyThatDidNotExistThenAndIsSetNowDiffersFromItsDefault) {
  const JobConfig job = testing_job::load({"trainer.timeout.export_timeout=77", "optimizer.lr=0.25"}).job;

  EXPECT_THAT(told(differences_since(without_export_timeout(), job), "now", "then"),
              AllOf(HasSubstr("trainer.timeout.export_timeout (77 now, 3600 then)"),
                    HasSubstr("optimizer.lr (0.25 now, 0.0003 then)")));
}

TEST(JobDifference, KeysThatThisVersionDoesNotReadAreComparedAsTheyAre) {
  config::Json then = without_export_timeout();
  then["optimizer"]["warm_start"] = true;

  EXPECT_THAT(told(differences_since(then, testing_job::load().job), "now", "then"),
              AllOf(HasSubstr("export_timeout (3600 now, missing then)"),
                    HasSubstr("optimizer.warm_start (missing now, true then)")));
}

TEST(JobDifference, SurvivesWhatAStrangerMaySend) {
  const std::string deep = "{\"a\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  for (const std::string& theirs : {std::string("no json"), std::string("[1]"), deep, std::string()}) {
    EXPECT_EQ(told_of(R"({"a":1})", theirs), "");
  }
  EXPECT_THAT(told_of(R"({"a":1})", "{\"a\":\"\\u001b[31m" + std::string(500, 'x') + "\"}"),
              AllOf(HasSubstr("..."), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace d9d
