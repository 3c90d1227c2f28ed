// What the user can put right: exit code 2, one message that names the place and a remedy, nothing written.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class BadInput : public testing::Test {
 protected:
  void expect_error(const Words& words, const std::vector<std::string>& parts) {
    const Outcome outcome = job_.call(words);
    EXPECT_THAT(outcome, is_refused(StartsWith("d9d-node: error: ")));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(job_.folder() / "runs"));
  }

  void expect_error_after(const std::string& before, const std::string& after,
                          const std::vector<std::string>& parts) {
    SCOPED_TRACE(after);
    const std::string good = job_.text();
    job_.rewrite(before, after);
    expect_error({"job.yaml"}, parts);
    job_.folder().write("job.yaml", good);
  }

  TinyJob job_;
};

TEST_F(BadInput, NamesLineKeyAndRemedy) {
  expect_error_after("global_batch_size", "global_batch_siz",
                     {"job.yaml:4:14: trainer.batching.global_batch_siz: unknown key",
                      "did you mean \"global_batch_size\"?"});
  expect_error_after("global_batch_size: 8", "global_batch_size: eight",
                     {"job.yaml:4:33: trainer.batching.global_batch_size: expected an integer", "\"eight\"",
                      "write a whole number"});
  expect_error_after("lr: 0.003, ", "", {"job.yaml:", ": optimizer.lr: missing", "add"});
  expect_error_after("trainer:\n", "trainer\n", {"job.yaml:", "not valid YAML or JSON"});
}

TEST_F(BadInput, RefusesAnImpossibleMesh) {
  expect_error(Words{"job.yaml"} + mesh(3, 1), {"mesh.pipeline_parallel", "3 stages over 2 layers"});
  expect_error(Words{"job.yaml"} + mesh(1, 3),
               {"job.yaml:4:33: trainer.batching.global_batch_size", "not divisible", "give 6 or 12"});
  expect_error(Words{"job.yaml", "--ranks", "3"} + mesh(2, 2), {"node.ranks", "do not divide"});
}

TEST_F(BadInput, NamesTheOverrideThatIsWrong) {
  expect_error(Words{"job.yaml"} + set("optimizer.lrr", "1"),
               {"--set optimizer.lrr=1: optimizer.lrr: unknown key", "did you mean \"lr\"?"});
}

TEST_F(BadInput, RefusesBadUsage) {
  expect_error({"nowhere.yaml"}, {"cannot read nowhere.yaml", "give the path of a job file"});
  expect_error({"job.yaml", "--lissten", "x"}, {"unknown option --lissten", "--listen"});
  expect_error({"chek", "job.yaml"}, {"unknown command chek", "check"});
  expect_error({"job.yaml", "--join", "nowhere"}, {"--join", "HOST:PORT"});
  expect_error({"job.yaml", "--ranks", "0"}, {"--ranks 0", "expected an integer from 1"});
  expect_error({"job.yaml", "--log-level", "loud"}, {"unknown log level \"loud\"", "debug, info"});
  expect_error({"score"}, {"MODEL_DIR is missing"});
}

TEST_F(BadInput, IsNotAskingForHelpOrTheVersion) {
  for (const char* command :
       {"run", "check", "schedule", "lr", "score", "generate", "export", "checkpoint", "convert", "trace"}) {
    EXPECT_THAT(job_.call({command, "--help"}), prints(std::string("usage: d9d-node ") + command));
  }
  EXPECT_THAT(job_.call({"--version"}), prints(StartsWith("d9d-node ")));
  EXPECT_EQ(job_.call({"--help"}).code, 0);
}

}  // namespace
}  // namespace d9d::test
