#include "actors/cli/job_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <ostream>

namespace d9d {

OptionSpec set_option() {
  return {"--set", "KEY.PATH=VALUE", "change a key of the job file; VALUE is YAML", true};
}

OptionSpec ranks_option() {
  return {"--ranks", "N", "ranks of this host's command, instead of node.ranks"};
}

LoadedJob load_job(const Arguments& arguments, Console& console) {
  std::vector<std::string> overrides = arguments.values("--set");
  if (const auto ranks = arguments.integer("--ranks", 1, std::numeric_limits<int>::max())) {
    overrides.push_back(fmt::format("node.ranks={}", *ranks));
  }
  LoadedJob loaded = load_job(std::filesystem::path(arguments.positional().front()), overrides);
  for (const std::string& warning : loaded.warnings) console.err << "warning: " << warning << "\n";
  return loaded;
}

}  // namespace d9d
