#include "actors/cli/manual.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CommandLine shell_program() {
  CommandLine program{.name = "d9d-node",
                      .version = "",
                      .commands = {{.name = "run",
                                    .positional = "JOB.yaml",
                                    .summary = "run this host's part",
                                    .options = {{"--device", "cpu|cuda", "where: [it] runs", true}},
                                    .run = {}},
                                   {.name = "data",
                                    .positional = "peek JOB.yaml | tokenize TEXT",
                                    .summary = "show samples",
                                    .options = {{"--rate", "SECONDS", "for so long"}},
                                    .run = {}}}};
  add_manual(program);
  return program;
}

TEST(Completion, BashKnowsWhatFollowsAnOption) {
  EXPECT_THAT(completion_of(shell_program(), "bash"),
              AllOf(HasSubstr("--device) words='cpu cuda' files='' options='' ;;"),
                    HasSubstr("--rate) words='' files='' options='' ;;"),
                    HasSubstr("*) words='peek tokenize' files=yes options='--rate --help --version' ;;"),
                    HasSubstr("words='run data completion man'")));
}

TEST(Completion, ZshAndFishShowWhatAnOptionMeans) {
  EXPECT_THAT(completion_of(shell_program(), "zsh"),
              AllOf(testing::StartsWith("#compdef d9d-node\n"), HasSubstr("'run:run this host'\\''s part'"),
                    HasSubstr("'*--device=[where\\: \\[it\\] runs]:cpu|cuda:(cpu cuda)'")));
  EXPECT_THAT(
      completion_of(shell_program(), "fish"),
      AllOf(HasSubstr("-a run -d 'run this host\\'s part'"),
            HasSubstr("-n 'not __fish_seen_subcommand_from data completion man' -l device -x -a 'cpu cuda'"),
            HasSubstr("-n '__fish_seen_subcommand_from data' -l rate -x -d 'for so long'")));
}

TEST(Completion, AnUnknownShellIsRefusedByName) {
  std::ostringstream out, err;
  Console console{out, err};

  EXPECT_EQ(cli_main(shell_program(), std::vector<std::string>{"completion", "bush"}, console), 2);
  EXPECT_THAT(err.str(), HasSubstr("unknown shell bush; did you mean \"bash\"?"));
}

}  // namespace
}  // namespace d9d
