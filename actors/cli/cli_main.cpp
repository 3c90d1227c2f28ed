#include "actors/cli/cli_main.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int done = 0;
constexpr int failed = 1;
constexpr int bad_input = 2;

std::string overview(const CommandLine& program) {
  const Command& standard = program.commands.front();
  std::string text = fmt::format(
      "Trains large language models on many hosts.\n\nusage: {} [COMMAND] ...\n\ncommands:\n", program.name);
  std::size_t width = 0;
  for (const Command& command : program.commands) width = std::max(width, command.name.size());
  for (const Command& command : program.commands) {
    text += fmt::format("  {:<{}}  {}\n", command.name, width, command.summary);
  }
  return text +
         fmt::format(
             "\n`{} {}` means `{} {} {}`. Every command has --help. --version says which LibTorch it found, "
             "--cmake-prefix where the CMake package for plugins is.\n",
             program.name, standard.positional, program.name, standard.name, standard.positional);
}

bool asks_for(std::span<const std::string> words, std::string_view option) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, option) != end;
}

const Command* find_command(const CommandLine& program, const std::string& name) {
  for (const Command& command : program.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// `d9d-node chek job.yaml` is a slip of the keyboard. `d9d-node job` is a job if a file of that name exists.
void refuse_unknown_command(const CommandLine& program, const std::string& word) {
  std::error_code ignored;
  const bool path = word.find_first_of("./\\") != std::string::npos || std::filesystem::exists(word, ignored);
  if (path || word.starts_with("-")) return;
  std::vector<std::string_view> names;
  for (const Command& command : program.commands) names.push_back(command.name);
  throw Error(ErrorKind::input, fmt::format("unknown command {}, and there is no file of that name; {}", word,
                                            config::suggestion(word, names)));
}

int dispatch(const CommandLine& program, std::span<const std::string> words, Console& console) {
  const Command* command = words.empty() ? nullptr : find_command(program, words.front());
  const auto rest = command ? words.subspan(1) : words;
  if (asks_for(rest, "--version")) {
    console.out << program.name << " " << program.version << "\n";
    return done;
  }
  if (words.size() == 1 && words.front() == "--cmake-prefix" && program.cmake_prefix) {
    console.out << program.cmake_prefix() << "\n";
    return done;
  }
  if (asks_for(rest, "--help") || asks_for(rest, "-h")) {
    console.out << (command ? help_of(program.name, *command) : overview(program));
    return done;
  }
  if (words.empty()) {
    console.err << overview(program);
    return bad_input;
  }
  if (!command) {
    refuse_unknown_command(program, words.front());
    command = &program.commands.front();
  }
  return command->run(parse_arguments(rest, *command), console);
}

// It is no failure when the reader of a pipe closes it early (`| head`).
bool reader_is_gone() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void require_written(std::ostream& out) {
  errno = 0;
  out.flush();
  if (out || reader_is_gone()) return;
  throw Error(ErrorKind::environment,
              fmt::format("the output cannot be written{}",
                          errno == 0 ? "" : std::string(": ") + std::strerror(errno)));
}

}  // namespace

int cli_main(const CommandLine& program, std::span<const std::string> words, Console& console) {
  try {
    const int code = dispatch(program, words, console);
    require_written(console.out);
    return code;
  } catch (...) {
    return report_exception(program.name, console.err);
  }
}

int report_exception(const std::string& program, std::ostream& err) {
  const Caught caught = describe_current_exception();
  const std::string_view kind = caught.kind == ErrorKind::bug ? "bug: " : "error: ";
  err << program << ": " << kind << caught.what << "\n";
  return caught.kind == ErrorKind::input ? bad_input : failed;
}

}  // namespace d9d
