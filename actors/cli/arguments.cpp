#include "actors/cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/base/config/other_words.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/home_path.hpp"

namespace d9d {
namespace {

// What other programs call options that a command here has; in their own spelling of dashes.
constexpr config::OtherWords other_options[]{{"--max-new-tokens --max-tokens --n-predict", "--tokens"},
                                             {"--temp", "--temperature"},
                                             {"--batch-size", "--batch"},
                                             {"--stop-strings", "--stop"},
                                             {"--output", "--out"}};

std::string spelled(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "it is --tokens here", or the nearest name of the command.
std::string remedy_for(const std::string& name, const std::vector<std::string_view>& names) {
  const config::OtherWords* const other = config::find_other(other_options, spelled(name));
  if (other != nullptr && std::ranges::count(names, other->ours) > 0)
    return fmt::format("it is {} here", other->ours);
  return config::suggestion(name, names);
}

const OptionSpec& find_option(const Command& command, const std::string& name) {
  std::vector<std::string_view> names = {"--help", "--version"};
  for (const OptionSpec& option : command.options) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  throw Error(ErrorKind::input,
              fmt::format("{}: unknown option {}; {}", command.name, name, remedy_for(name, names)));
}

void check_positional(const std::vector<std::string>& words, const Command& command) {
  D9D_REQUIRE(words.size() >= command.positional_min, "{}: {} is missing; see `{} --help`", command.name,
              command.positional, command.name);
  D9D_REQUIRE(words.size() <= command.positional_max, "{}: \"{}\" is one word too many; expected {}",
              command.name, words[command.positional_max],
              command.positional.empty() ? "no words" : command.positional);
}

constexpr std::array<std::pair<const char*, const char*>, 2> options_of_all{
    {{"--help", "this text"}, {"--version", "the version, and which LibTorch it found"}}};

}  // namespace

std::span<const std::pair<const char*, const char*>> common_options() {
  return options_of_all;
}

// Their `~` is expanded here, because a shell leaves `--out=~/x` as it is.
bool names_path(std::string_view word) {
  constexpr std::array<std::string_view, 8> paths{"DIR", "FILE", "FOLDER", ".yaml",
                                                  ".so", ".npy", ".jsonl", ".safetensors"};
  return std::any_of(paths.begin(), paths.end(),
                     [&](std::string_view path) { return word.find(path) != std::string_view::npos; });
}

std::string usage_of(const std::string& program, const Command& command) {
  std::string usage = fmt::format("{} {}", program, command.name);
  if (!command.positional.empty()) usage += " " + command.positional;
  return command.options.empty() ? usage : usage + " [options]";
}

Arguments parse_arguments(std::span<const std::string> words, const Command& command) {
  Arguments arguments;
  bool options_over = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_over || !word.starts_with("-") || word == "-") {
      arguments.positional_.push_back(names_path(command.positional) ? expanded_path(word) : word);
      continue;
    }
    if (word == "--") {
      options_over = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec& option = find_option(command, name);
    std::vector<std::string>& values = arguments.values_[option.name];
    D9D_REQUIRE(values.empty() || option.repeated, "{}: {} is given twice; keep one", command.name,
                option.name);
    if (option.value.empty()) {
      D9D_REQUIRE(equals == std::string::npos, "{}: {} takes no value", command.name, option.name);
      values.emplace_back();
    } else if (equals != std::string::npos) {
      const std::string value = word.substr(equals + 1);
      values.push_back(names_path(option.value) ? expanded_path(value) : value);
    } else {
      D9D_REQUIRE(i + 1 < words.size(), "{}: {} needs a value: {} {}", command.name, option.name, option.name,
                  option.value);
      const std::string& value = words[++i];
      values.push_back(names_path(option.value) ? expanded_path(value) : value);
    }
  }
  check_positional(arguments.positional_, command);
  return arguments;
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = values_.find(std::string(option));
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = values_.find(std::string(option));
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::int64_t> Arguments::integer(std::string_view option, std::int64_t min,
                                               std::int64_t max) const {
  const auto given = integers(option, min, max);
  return given.empty() ? std::nullopt : std::optional(given.back());
}

std::vector<std::int64_t> Arguments::integers(std::string_view option, std::int64_t min,
                                              std::int64_t max) const {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : values(option)) {
    const auto number = config::integer_from(text);
    D9D_REQUIRE(number && *number >= min && *number <= max, "{} {}: expected an integer from {} to {}",
                option, text, min, max);
    numbers.push_back(*number);
  }
  return numbers;
}

std::int64_t Arguments::required_integer(std::string_view option, std::int64_t min, std::int64_t max) const {
  const auto number = integer(option, min, max);
  D9D_REQUIRE(number.has_value(), "{} is missing; give an integer from {} to {}", option, min, max);
  return *number;
}

std::optional<double> Arguments::number(std::string_view option) const {
  const auto text = value(option);
  if (!text) return std::nullopt;
  const auto number = config::number_from(*text);
  D9D_REQUIRE(number.has_value(), "{} {}: expected a number", option, *text);
  return number;
}

std::string help_of(const std::string& program, const Command& command) {
  std::string text = fmt::format("{}\n\nusage: {}\n", command.summary, usage_of(program, command));
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionSpec& option : command.options) {
    rows.emplace_back(option.value.empty() ? option.name : option.name + " " + option.value,
                      option.meaning + (option.repeated ? " (may be repeated)" : ""));
  }
  rows.insert(rows.end(), options_of_all.begin(), options_of_all.end());
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  text += "\noptions:\n";
  for (const auto& [left, right] : rows) text += fmt::format("  {:<{}}  {}\n", left, width, right);
  if (!command.details.empty()) text += "\n" + command.details;
  if (!command.examples.empty()) text += "\nexamples:\n";
  for (const std::string& example : command.examples) text += fmt::format("  {} {}\n", program, example);
  return text;
}

}  // namespace d9d
