#include "actors/job/launch_environment.hpp"

#include <cstdlib>
#include <initializer_list>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host_port.hpp"

namespace d9d {
namespace {

constexpr int kNodesMax = 1 << 20;

int whole_number(const std::string& text, const char* variable, int min, int max) {
  const auto number = config::integer_from(text);
  D9D_REQUIRE(number && *number >= min && *number <= max,
              "{} is \"{}\", expected a whole number from {} to {}", variable, text, min, max);
  return static_cast<int>(*number);
}

}  // namespace

RunOptions with_environment(RunOptions options) {
  const auto variable = [](std::initializer_list<const char*> names) -> std::optional<std::string> {
    for (const char* name : names) {
      if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    }
    return std::nullopt;
  };
  const auto index = variable({"NODE_RANK", "SLURM_NODEID"});
  if (!index || options.join || options.listen) return options;
  const auto host = variable({"MASTER_ADDR"});
  const auto port = variable({"MASTER_PORT"});
  const auto nodes = variable({"NNODES", "SLURM_NNODES"});
  if (nodes) options.num_nodes = whole_number(*nodes, "NNODES (or SLURM_NNODES)", 1, kNodesMax);
  if (options.num_nodes == 1) return options;
  D9D_REQUIRE(host && port,
              "NODE_RANK is set but MASTER_ADDR or MASTER_PORT is not; set all three, or use --join");
  options.node_index =
      whole_number(*index, "NODE_RANK (or SLURM_NODEID)", 0, options.num_nodes.value_or(kNodesMax) - 1);
  D9D_REQUIRE(parse_port(*port, "MASTER_PORT") != 0, "MASTER_PORT is 0; all nodes have to know one port");
  (options.node_index == 0 ? options.listen : options.join) = host_port_text(*host, *port);
  return options;
}

}  // namespace d9d
