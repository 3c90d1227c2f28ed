#pragma once
// Parses the command line of d9d-node into options by name and positional words. Anything that does not fit
// is one clear error.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d9d {

struct OptionSpec {
  std::string name;   // "--set"
  std::string value;  // its value as the help shows it, "KEY.PATH=VALUE"; empty: it has none
  std::string meaning;
  bool repeated = false;
};

// The parsed command line of one command. It has options of that command only.
class Arguments {
 public:
  const std::vector<std::string>& positional() const { return positional_; }
  bool has(std::string_view option) const { return values_.contains(std::string(option)); }
  std::optional<std::string> value(std::string_view option) const;  // the last one given
  std::vector<std::string> values(std::string_view option) const;   // in order
  // Input error for a value that is no such number, or is outside of [min, max].
  std::optional<std::int64_t> integer(std::string_view option, std::int64_t min, std::int64_t max) const;
  // All values that were given, in order.
  std::vector<std::int64_t> integers(std::string_view option, std::int64_t min, std::int64_t max) const;
  std::optional<double> number(std::string_view option) const;
  // Input error when it was not given.
  std::int64_t required_integer(std::string_view option, std::int64_t min, std::int64_t max) const;

 private:
  friend Arguments parse_arguments(std::span<const std::string> words, const struct Command& command);
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Where a command writes: results to `out`, warnings and notes to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
};

struct Command {
  std::string name;
  std::string positional;  // for the help: "JOB.yaml"
  std::string summary;     // one line
  std::size_t positional_min = 0;
  std::size_t positional_max = 0;
  std::vector<OptionSpec> options;
  // Runs the command and returns the exit code. An input error becomes 2, any other exception 1.
  std::function<int(const Arguments&, Console&)> run;
  std::string details = {};  // more lines for `--help`
  // Whole command lines for a shell, without the program's name: "data peek job.yaml". A test parses them.
  std::vector<std::string> examples = {};
};

// Parses `--name value` and `--name=value`; `--` ends the options. Input errors: an unknown option (the
// text names the nearest one), a missing or a repeated value, too few or too many positional words.
Arguments parse_arguments(std::span<const std::string> words, const Command& command);

std::string help_of(const std::string& program, const Command& command);
// "d9d-node run JOB.yaml [options]"
std::string usage_of(const std::string& program, const Command& command);
// Options that every command has, with their meanings.
std::span<const std::pair<const char*, const char*>> common_options();
// True for the words with which the help names a path: "FILE", "RUN_DIR|HOST:PORT", "LIB.so".
bool names_path(std::string_view word);

}  // namespace d9d
