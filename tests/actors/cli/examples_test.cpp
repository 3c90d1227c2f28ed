// The examples of every command's --help are command lines that the command takes.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "actors/cli/arguments.hpp"
#include "actors/cli/commands.hpp"
#include "actors/cli/manual.hpp"
#include "actors/cli/running_commands.hpp"
#include "actors/cli/start/init.hpp"
#include "actors/cli/start/tokenizer.hpp"

namespace d9d {
namespace {

std::vector<Command> every_command() {
  return {run_command("build", {}, {}),
          init_command({1, 1ULL << 30}),
          tokenizer_command(),
          check_command(),
          schedule_command(),
          lr_command(),
          score_command(),
          generate_command(),
          export_command(),
          checkpoint_command(),
          convert_command(),
          data_command(),
          trace_command(),
          report_command(),
          sleep_command(),
          wake_command(),
          completion_command(nullptr),
          man_command(nullptr)};
}

// As a shell does, of quotes and blanks.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

TEST(Examples, OfEveryCommandAreShownAndFitItsOptions) {
  for (const Command& command : every_command()) {
    ASSERT_FALSE(command.examples.empty()) << command.name;
    for (const std::string& example : command.examples) {
      std::vector<std::string> words = shell_words(example.substr(0, example.find(" | ")));
      EXPECT_EQ(words.front(), command.name) << example;
      words.erase(words.begin());
      EXPECT_NO_THROW(parse_arguments(words, command)) << example;
      EXPECT_THAT(help_of("d9d-node", command), testing::HasSubstr("  d9d-node " + example + "\n"));
    }
    // An example is in no other place, where nothing would parse it.
    EXPECT_THAT(command.details, testing::Not(testing::HasSubstr("d9d-node " + command.name)));
  }
}

std::vector<std::string> lines_of_readme() {
  std::ifstream file(D9D_SOURCE_DIR "/README.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// "    d9d-node init mine --text notes.txt     # why": the words between the program and the next two blanks.
TEST(Examples, OfTheReadmeAreCommandLines) {
  const std::string begin = "    d9d-node ";
  const std::vector<Command> commands = every_command();
  int found = 0;
  for (const std::string& line : lines_of_readme()) {
    if (!line.starts_with(begin)) continue;
    ++found;
    const std::string text = line.substr(begin.size());
    std::vector<std::string> words = shell_words(text.substr(0, text.find("  ")));
    const auto named = std::ranges::find(commands, words.front(), &Command::name);
    if (named != commands.end()) words.erase(words.begin());
    EXPECT_NO_THROW(parse_arguments(words, named == commands.end() ? commands.front() : *named)) << line;
  }
  EXPECT_GE(found, 8);
}

TEST(Examples, TheReadmesTableOfCommandsHasAllOfThem) {
  std::string table;
  for (const std::string& line : lines_of_readme()) {
    if (line.starts_with("| `")) table += line.substr(0, line.find(" | ", 2));
  }
  for (const Command& command : every_command())
    EXPECT_THAT(table, testing::HasSubstr("`" + command.name + "`"));
}

}  // namespace
}  // namespace d9d
