#include "actors/cli/job_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "runtime/base/config/parse.hpp"

namespace d9d {

OptionSpec set_option() {
  return {"--set", "KEY.PATH=VALUE", "change a key of the job file; VALUE stands for itself, or is YAML in quotes or brackets", true};
}

OptionSpec ranks_option() {
  return {"--ranks", "N", "ranks of this host's command, instead of node.ranks"};
}

std::string job_text(const Arguments& arguments) {
  return config::read_config_text(arguments.positional().front());
}

LoadedJob load_job(const Arguments& arguments, Console& console) {
  return load_job(arguments, console, job_text(arguments));
}

LoadedJob load_job(const Arguments& arguments, Console& console, const std::string& text) {
  std::vector<std::string> overrides = arguments.values("--set");
  if (const auto ranks = arguments.integer("--ranks", 1, std::numeric_limits<int>::max())) {
    overrides.push_back(fmt::format("node.ranks={}", *ranks));
  }
  const std::string& name = arguments.positional().front();
  LoadedJob loaded = load_job(config::parse(text, name == "-" ? "standard input" : name), overrides);
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  return loaded;
}

}  // namespace d9d
