// What jobs find around them: descriptors, folders, readers of what they print.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

class Environments : public testing::Test {
 protected:
  // `script` has the program as $0 and job.yaml with the words as $@.
  Outcome within(const std::string& script, const Words& words = {}, const Environment& environment = {}) {
    const auto process = job_.start_within({"/bin/bash", "-c", script}, words, environment);
    const int code = process->wait();
    return {code, process->out(), process->err()};
  }
  std::string text(const std::string& path) const { return text_of_file(job_.run_folder("tiny") / path); }

  TinyJob job_;
};

TEST_F(Environments, AnOutputThatCannotBeWrittenIsAnError) {
  EXPECT_THAT(within(R"("$0" check "$@" > /dev/full)"), fails("the output cannot be written"));

  EXPECT_THAT(within(R"("$0" check "$@" | true; exit ${PIPESTATUS[0]})"), says(Not(HasSubstr("error"))));
}

TEST_F(Environments, ClosedDescriptorsAreNoFilesOfTheJob) {
  EXPECT_THAT(within(R"(exec "$0" "$@" 0<&- 1>&- 2>&-)", mesh(1, 2) + set("node.processes", "2")),
              ends_well());
  EXPECT_THAT(job_.losses("tiny"), SizeIs(20));
}

TEST_F(Environments, AWorkingDirectoryThatIsGoneIsNamed) {
  EXPECT_THAT(within(R"(mkdir gone && cd gone && rmdir ../gone && "$0" check "$@")"),
              fails("the working directory cannot be found"));
}

TEST_F(Environments, AFolderWhoseNameIsNotUtf8IsAsGoodAsAny) {
  EXPECT_THAT(
      within("mkdir 'caf\xe9' && cp job.yaml *.txt 'caf\xe9' 2> /dev/null; cd 'caf\xe9' && \"$0\" \"$@\""),
      says(Not(HasSubstr("bug"))));
}

TEST_F(Environments, TheLogLiesInTheRunsFolder) {
  ASSERT_THAT(job_.run(mesh(1, 2) + set("node.processes", "2")), ends_well());

  EXPECT_THAT(text("logs/node-0.log"), AllOf(HasSubstr("computing with"), HasSubstr("results in runs/tiny")));
  EXPECT_THAT(text("logs/node-1.log"), Not(IsEmpty()));
  std::ifstream file(job_.run_folder("tiny") / "logs/node-0.log");
  for (std::string line; std::getline(file, line);)
    EXPECT_THAT(line, MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:.]+ [a-z]+ .*"));
}

// MOD-31 and MOD-54: the job file, else the environment; the log says what runs.
TEST_F(Environments, ChooseWhichCodeComputes) {
  const Environment library{{"D9D_ATTENTION", "library"}};
  const auto by_variable = job_.start({}, library);
  EXPECT_EQ(by_variable->wait(), 0) << by_variable->err();
  EXPECT_THAT(text("logs/node-0.log"), HasSubstr("attention: library"));
  const std::vector<double> losses = job_.losses("tiny");

  const auto by_key = job_.start(set("node.attention", "library") + set("trainer.run.name", "other"),
                                 Environment{{"D9D_ATTENTION", "composed"}});
  EXPECT_EQ(by_key->wait(), 0) << by_key->err();
  EXPECT_EQ(job_.losses("other"), losses);

  for (const auto& [word, reason] : {std::pair{"composed", "D9D_ATTENTION: composed is for cuda alone"},
                                     {"eager", "expected one of auto, own, library, composed"}}) {
    EXPECT_THAT(within(R"("$0" check "$@")", {}, Environment{{"D9D_ATTENTION", word}}), is_refused(reason));
  }
}

TEST_F(Environments, AStartThatIsRefusedLeavesNoLog) {
  const Outcome outcome = job_.run(set("trainer.batching.global_batch_size", "3") + mesh(1, 2));

  EXPECT_EQ(outcome.code, 2);
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

TEST_F(Environments, HomeStandsInPaths) {
  const Environment home{{"HOME", job_.folder().path().string()}};
  const auto job = job_.start(set("output_dir", "~/there"), home);
  EXPECT_EQ(job->wait(), 0) << job->err();
  EXPECT_TRUE(std::filesystem::exists(job_.folder() / "there/metrics.jsonl"));

  EXPECT_THAT(job_.run(set("output_dir", "$HOME/there")),
              is_refused("output_dir: $HOME/there: variables are not replaced here"));
}

TEST_F(Environments, TextThatIsNotUtf8IsRefusedAndNoBug) {
  for (const char* key : {"trainer.run.name", "output_dir", "trainer.run.description"}) {
    EXPECT_THAT(job_.run(set(key, "caf\xe9")),
                is_refused(AllOf(HasSubstr(std::string("--set ") + key), HasSubstr("is not UTF-8"),
                                 Not(HasSubstr("bug")))))
        << key;
  }
}

}  // namespace
}  // namespace d9d::test
