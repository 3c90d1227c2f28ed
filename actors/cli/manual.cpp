#include "actors/cli/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// A text as troff sets it as it is: an escape is none, a dash is no hyphen, and a line that begins with a dot or an
// apostrophe is no request.
std::string plain(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string option_text(const OptionSpec& option) {
  const std::string value = option.value.empty() ? "" : " " + option.value;
  return fmt::format(".TP\n.B {}\n{}{}\n", plain(option.name + value), plain(option.meaning),
                     option.repeated ? " (may be repeated)" : "");
}

std::string command_text(const std::string& program, const Command& command) {
  std::string text = fmt::format(".SS {}\n.B {}\n.PP\n{}.\n", plain(command.name),
                                 plain(usage_of(program, command)), plain(command.summary));
  for (const OptionSpec& option : command.options) text += option_text(option);
  // Lines that are aligned stay so.
  if (!command.details.empty()) text += ".PP\n.nf\n" + plain(command.details) + ".fi\n";
  if (command.examples.empty()) return text;
  text += ".PP\nExamples:\n.PP\n.nf\n.RS 4\n";
  for (const std::string& example : command.examples) text += plain(program + " " + example) + "\n";
  return text + ".RE\n.fi\n";
}

}  // namespace

std::string man_page_of(const CommandLine& program) {
  const Command& standard = program.commands.front();
  std::string upper = program.name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string version = program.version.substr(0, program.version.find('\n'));
  const std::string name = plain(program.name);
  std::string text = fmt::format(
      ".TH {0} 1 \"\" \"{1} {2}\" \"User Commands\"\n"
      ".ad l\n.nh\n.SH NAME\n{1} \\- train large language models on many hosts\n"
      ".SH SYNOPSIS\n.B {1}\n[COMMAND] [ARGUMENTS] [options]\n"
      ".SH DESCRIPTION\n"
      "One YAML file describes a whole job. Without a command, the command {3} is meant.\n"
      ".SH COMMANDS\n",
      plain(upper), name, plain(version), plain(standard.name));
  for (const Command& command : program.commands) text += command_text(program.name, command);
  text += ".SH OPTIONS\nof every command:\n";
  for (const auto& [option, meaning] : common_options()) text += option_text({option, "", meaning});
  text += option_text({"--cmake-prefix", "",
                       "the folder for CMAKE_PREFIX_PATH of a project with plugins; without a command"});
  return text + fmt::format(
                    ".SH EXIT STATUS\n0 done, 2 the input is at fault, 1 anything else.\n"
                    ".SH ENVIRONMENT\n.TP\n.B D9D_TORCH\nthe LibTorch to use: a venv, torch\\(aqs folder in "
                    "one, or an unpacked archive. {0} \\-\\-version says which one it took.\n",
                    name);
}

Command completion_command(std::shared_ptr<const CommandLine> program) {
  return {.name = "completion",
          .positional = "bash|zsh|fish",
          .summary = "print what completes these commands in a shell",
          .positional_min = 1,
          .positional_max = 1,
          .options = {},
          .run =
              [program](const Arguments& arguments, Console& console) {
                const std::string& shell = arguments.positional().front();
                D9D_REQUIRE(shell == "bash" || shell == "zsh" || shell == "fish",
                            "completion: unknown shell {}; {}", shell,
                            config::suggestion(shell, {"bash", "zsh", "fish"}));
                console.out << completion_of(*program, shell);
                return 0;
              },
          .details =
              "Give what it prints to `source`, for one shell: `source <(...)`; in fish `... | source`. "
              "An installed d9d-node has these files where shells look for them.\n",
          .examples = {"completion bash", "completion zsh", "completion fish"}};
}

Command man_command(std::shared_ptr<const CommandLine> program) {
  return {.name = "man",
          .positional = "",
          .summary = "print the manual page",
          .positional_min = 0,
          .positional_max = 0,
          .options = {},
          .run =
              [program](const Arguments&, Console& console) {
                console.out << man_page_of(*program);
                return 0;
              },
          .examples = {"man | man -l -"}};
}

void add_manual(CommandLine& program) {
  const auto told = std::make_shared<CommandLine>();
  program.commands.push_back(completion_command(told));
  program.commands.push_back(man_command(told));
  *told = program;
  // Otherwise these two would hold themselves.
  for (Command& command : told->commands) command.run = nullptr;
}

}  // namespace d9d
