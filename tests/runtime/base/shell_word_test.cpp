#include "runtime/base/shell_word.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace d9d {
namespace {

// What bash takes the word for.
std::string as_bash_reads(const std::string& word) {
  std::string read;
  const std::string command = "printf %s " + word;
  std::FILE* const pipe = popen(("exec bash -c " + shell_word(command)).c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) read += static_cast<char>(c);
  return pclose(pipe) == 0 ? read : "bash failed";
}

TEST(ShellWord, LeavesPlainPathsAsTheyAre) {
  EXPECT_EQ(shell_word("runs/mine-2/a_b.json"), "runs/mine-2/a_b.json");
  EXPECT_EQ(shell_word("my folder"), "'my folder'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWord, IsReadBackByAShell) {
  for (const std::string text : {"a b", "it's", "$HOME", "~", "a\"b", "`ls`", "back\\slash", "*", "a;b", "#x",
                                 "é", "(1)", "!x", "two'quotes'"})
    EXPECT_EQ(as_bash_reads(shell_word(text)), text);
}

// sh, which popen() takes, has no $'..'; this one is read by bash alone.
TEST(ShellWord, StaysOneLine) {
  const std::string text = "a\nb\tc'd\\e", word = shell_word(text);
  EXPECT_EQ(word.find('\n'), std::string::npos);
  EXPECT_EQ(as_bash_reads(word), text);
}

}  // namespace
}  // namespace d9d
