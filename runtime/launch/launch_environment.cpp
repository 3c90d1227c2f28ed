#include "runtime/launch/launch_environment.hpp"

#include <unistd.h>

#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/launch/node_address.hpp"

namespace d9d {
namespace {

constexpr int port_max = 65535;

using Notes = std::vector<std::string>;

std::string told(const Given<int>& given) {
  return fmt::format("{} is {}", given.variable, given.value);
}

// `own` is the user's, and counts. Where a launcher starts several processes on a host, a number that counts
// hosts says nothing about this process.
std::optional<Given<int>> settle(const std::optional<Given<int>>& own,
                                 const std::optional<Given<int>>& launched,
                                 const std::optional<Given<int>>& of_host, bool several, Notes& notes) {
  if (!own || !launched) return own ? own : launched;
  if (own->value == launched->value) return own;
  if (several && of_host && own->value == of_host->value) return launched;
  notes.push_back(fmt::format("{}, but {}; {} counts", told(*own), told(*launched), own->variable));
  return own;
}

struct Settled {
  std::optional<Given<int>> index, count;
};

// Kubeflow tells torchrun, whose place d9d-node then takes, under names with PET_ before them.
const char* name_in_use(const Variables& variables, const char* name, const char* of_torchrun,
                        const LaunchPlace& place) {
  const bool launched = place.index || place.count || find_variable(variables, name) != nullptr;
  return launched ? name : of_torchrun;
}

Settled settled(const LaunchPlace& place, const Variables& variables, Notes& notes) {
  const char* const index_name = name_in_use(variables, "NODE_RANK", "PET_NODE_RANK", place);
  const char* const count_name = name_in_use(variables, "NNODES", "PET_NNODES", place);
  const bool several = place.several_per_host();
  const Settled all{settle(number_in(variables, index_name, 0, processes_max), place.index, place.host_index,
                           several, notes),
                    settle(number_in(variables, count_name, 1, processes_max), place.count, place.host_count,
                           several, notes)};
  D9D_REQUIRE(!all.index || !all.count || all.index->value < all.count->value,
              "{}, but {}: processes are counted from 0", told(*all.index), told(*all.count));
  if (!all.index && all.count && all.count->value > 1) {
    notes.push_back(
        fmt::format("{}, but NODE_RANK is not set: this process runs the job alone", told(*all.count)));
  }
  return all;
}

void note_command_line(const RunOptions& options, const Settled& place, Notes& notes) {
  if (!place.index || (place.count && place.count->value == 1)) return;
  const bool first = place.index->value == 0;
  if (first == !options.join) return;
  notes.push_back(fmt::format(
      "{}, but {}; the command line counts", told(*place.index),
      first ? "--join makes this process another than node 0" : "--listen makes this process node 0"));
}

std::int64_t equal_share(const JobConfig& job, const Given<int>& count) {
  const std::int64_t ranks = job.mesh.world_size();
  D9D_REQUIRE(
      ranks % count.value == 0,
      "{}, but the mesh has {} ranks, which {} processes cannot share equally; start another number of "
      "processes, change a degree of `mesh`, or set node.ranks (or --ranks) on each so that they add up",
      told(count), ranks, count.value);
  return ranks / count.value;
}

// torchrun's own store sits at MASTER_PORT, and MASTER_ADDR is the name it found for this host.
bool agent_takes_port(const Variables& variables) {
  const std::string* agent = find_variable(variables, "TORCHELASTIC_USE_AGENT_STORE");
  return agent != nullptr && *agent == "True";
}

Given<std::string> host_of_first(const LaunchPlace& place, const Variables& variables,
                                 const Given<int>& index) {
  const char* const name = name_in_use(variables, "MASTER_ADDR", "PET_MASTER_ADDR", place);
  const std::string* given = find_variable(variables, name);
  const bool torchrun = find_variable(variables, "TORCHELASTIC_RUN_ID") != nullptr;
  if (given != nullptr && !(torchrun && place.one_host)) return {*given, name};
  if (!place.host && index.value == 0) return {"localhost", index.variable};  // the others have to know it
  D9D_REQUIRE(place.host.has_value(),
              "{}, but nothing says where node 0 is; set MASTER_ADDR to the address of its host",
              told(index));
  return *place.host;
}

std::uint16_t port_of_first(const LaunchPlace& place, const JobConfig& job, const Variables& variables,
                            const Given<int>& index) {
  // Node 0 may take a free port and say which; who joins has to be told.
  const auto given = number_in(variables, name_in_use(variables, "MASTER_PORT", "PET_MASTER_PORT", place),
                               index.value == 0 ? 0 : 1, port_max);
  if (given && !agent_takes_port(variables)) return static_cast<std::uint16_t>(given->value);
  if (job.node.listen) {
    if (const std::uint16_t port = parse_host_port(*job.node.listen, "node.listen").port; port != 0)
      return port;
  }
  D9D_REQUIRE(place.port.has_value(),
              "{}, but nothing says on which port node 0 listens; set MASTER_PORT to a free one",
              told(index));
  return place.port->value;
}

// Where torch's store listens: on every address of the host of rank 0, also where that one is called localhost, as
// Kubeflow does. Without protection loopback is all that may be open.
std::string host_to_listen(const Given<std::string>& host, const LaunchPlace& place, const JobConfig& job,
                           Notes& notes) {
  if (place.one_host || !is_loopback(host.value)) return host.value;
  if (job.node.tls || job.node.insecure) return "0.0.0.0";
  if (place.index && !job.node.listen) {
    notes.push_back(fmt::format(
        "{}, which is this host alone to others, and nothing protects the connections: node 0 listens for "
        "processes of this host only. For those of other hosts give node.tls {{ca, certificate, key}}, or "
        "set node.insecure: true on a network you trust",
        host.variable == "MASTER_ADDR" ? "MASTER_ADDR is " + host.value
                                       : told(*place.index) + ", and MASTER_ADDR is not set"));
  }
  return host.value;
}

// node.listen counts more than MASTER_ADDR, where it says a port.
void listen_as_first(RunOptions& options, const JobConfig& job, const std::string& host, std::uint16_t port) {
  if (!job.node.listen) {
    options.listen = host_port_text(host, port);
    return;
  }
  const HostPort own = parse_host_port(*job.node.listen, "node.listen");
  if (own.port == 0) {
    options.listen = host_port_text(own.host, port);
  } else if (own.port != port) {
    options.notes.push_back(
        fmt::format("node.listen is {}, but MASTER_PORT is {}; node 0 listens at "
                    "node.listen, the others call MASTER_PORT",
                    *job.node.listen, port));
  }
}

}  // namespace

RunOptions with_environment(RunOptions options, const JobConfig& job, const Variables& variables) {
  const LaunchPlace place = launch_place(variables);
  options.notes.insert(options.notes.end(), place.notes.begin(), place.notes.end());
  const auto [index, count] = settled(place, variables, options.notes);
  if (options.join || options.listen) {
    note_command_line(options, {index, count}, options.notes);
    return options;
  }
  if (!index || (count && count->value == 1)) return options;
  D9D_REQUIRE(count || options.ranks || job.node.ranks,
              "{}, but nothing says how many nodes there are; set NNODES, or node.ranks (or --ranks) on each",
              told(*index));
  if (count) options.num_nodes = count->value;
  if (count && !options.ranks && !job.node.ranks) options.ranks = static_cast<int>(equal_share(job, *count));
  options.node_index = index->value;
  options.share.launched = {place.index_here, place.processes_here};
  options.share.devices_bound = place.devices_bound;
  const Given<std::string> host = host_of_first(place, variables, *index);
  options.address_from = host.variable;
  const std::uint16_t port = port_of_first(place, job, variables, *index);
  if (index->value == 0) {
    listen_as_first(options, job, host_to_listen(host, place, job, options.notes), port);
  } else {
    options.join = host_port_text(host.value, port);
  }
  return options;
}

Variables environment_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace d9d
