#include "runtime/launch/process_place.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/launch/device_places.hpp"
#include "runtime/launch/node_address.hpp"

namespace d9d {
namespace {

// Of all processes of the command; 0: what the other hosts leave.
int ranks_of_command(const JobConfig& job, const RunOptions& options) {
  if (options.ranks) return *options.ranks;
  if (job.node.ranks) return static_cast<int>(*job.node.ranks);
  return options.join ? 0 : job.mesh.world_size();
}

// The largest number up to `most` that shares the ranks equally.
int nearest_divisor(int ranks, int most) {
  int divisor = std::clamp(most, 1, ranks);
  while (ranks % divisor != 0) --divisor;
  return divisor;
}

void require_ranks(const std::string& given, int processes, int ranks) {
  D9D_REQUIRE(processes <= ranks, "{}, and this host has {}: set node.processes to {}, or node.ranks to more",
              given, counted(ranks, "rank"), nearest_divisor(ranks, ranks));
  D9D_REQUIRE(ranks % processes == 0,
              "{}, and {} processes cannot share the {} ranks of this host equally: set node.processes to {}",
              given, processes, ranks, nearest_divisor(ranks, processes));
}

void require_devices(const JobConfig& job, const std::string& given, int processes, int devices) {
  if (job.node.device != DeviceKind::cuda || devices == 0)
    return;  // without any the job is refused elsewhere
  D9D_REQUIRE(processes <= devices,
              "{}, and there {} for them: set node.processes to {} or to per_device, or let the ranks of one "
              "process share a GPU (node.processes: 1)",
              given, devices == 1 ? "is 1 GPU" : fmt::format("are {} GPUs", devices), devices);
}

// A GPU each for the ranks, which NCCL then joins; other ranks need one process (device_places()).
bool has_process_per_rank(const JobConfig& job, int ranks, int devices) {
  const NodeConfig& node = job.node;
  return node.device == DeviceKind::cuda && node.collectives != CollectivesKind::local && ranks > 1 &&
         ranks <= devices && job.trainer.pipelining.order != CursorOrder::dynamic;
}

// Each process has a port of its own, and all of them are reached from other hosts under one kind of address.
void require_addresses(const JobConfig& job, const RunOptions& options, const std::string& given) {
  const AddressOptions address = address_options(job, options);
  const char* const or_not = job.node.processes ? "" : "; or set node.processes: 1, for one process with all";
  D9D_REQUIRE(!address.advertise || !address.advertise->port,
              "{}, and node.advertise is {}: each process has a port of its own; give the host alone{}",
              given, job.node.advertise.value_or(""), or_not);
  D9D_REQUIRE(!options.join || !address.listen || address.listen->port == 0,
              "{}, and --listen {} is one port for all of them: give port 0, or leave --listen out{}", given,
              options.listen.value_or(""), or_not);
  const bool whole = ranks_of_command(job, options) == job.mesh.world_size();
  D9D_REQUIRE(options.join || whole || address.advertise || !is_wildcard(address.listen->host),
              "{}, and node 0 listens on all addresses of this host: other hosts have to reach its processes "
              "under the address that these use; listen on that one, or set node.advertise to it{}",
              given, or_not);
}

}  // namespace

std::string ProcessPlace::text() const {
  if (!first_rank) return counted(ranks, "rank");
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), *first_rank);
  return fmt::format("{} {}", ranks == 1 ? "rank" : "ranks", fmt::join(all, ", "));
}

int processes_of(const JobConfig& job, const RunOptions& options, int devices_here) {
  const std::optional<ProcessCount>& count = job.node.processes;
  if (count == ProcessCount{}) return 1;
  const int ranks = ranks_of_command(job, options);
  const auto taken =
      static_cast<int>(std::min<std::int64_t>(job.node.devices.value_or(devices_here), devices_here));
  const HostShare& share = job.node.device == DeviceKind::cuda ? options.share : HostShare{};
  const int devices = part_of_devices(taken, share).count;
  if (!count && !has_process_per_rank(job, ranks, devices)) return 1;
  const std::string given = !count
                                ? "each rank has a GPU and gets a process of its own (node.processes: null)"
                            : count->per_device ? "node.processes is per_device"
                                                : fmt::format("node.processes is {}", count->count);
  D9D_REQUIRE(ranks > 0,
              "{}, and nothing says how many ranks this host has: set node.ranks (or --ranks), or NNODES",
              given);
  const int used = std::clamp(devices, 1, ranks);
  const int processes =
      !count || count->per_device ? used : static_cast<int>(std::min<std::int64_t>(count->count, 1 << 20));
  require_ranks(given, processes, ranks);
  require_devices(job, given, processes, devices_here == 0 ? 0 : used);
  if (processes > 1) require_addresses(job, options, given);
  return processes;
}

bool has_whole_mesh(const JobConfig& job, int ranks_here, const HostShare& share) {
  return ranks_here * share.worker.count == job.mesh.world_size();
}

RunOptions options_of_worker(RunOptions options, const JobConfig& job, const Worker& worker,
                             const std::string& join) {
  options.ranks = ranks_of_command(job, options) / worker.share.count;
  options.command = worker.command;
  options.share.worker = worker.share;
  const bool first = !options.join;
  if (!first) return options;
  options.node_index = 0;
  // No other process has to know it: a stranger of this host does not take the place of a worker that comes later.
  if (options.secret.kind == net::SecretKind::none && has_whole_mesh(job, *options.ranks, options.share))
    options.secret = {net::SecretKind::command, worker.secret};
  if (worker.share.index == 0) {
    if (!options.listen && !job.node.listen) options.listen = "127.0.0.1:0";
    return options;
  }
  options.join = join;
  options.listen.reset();
  options.address_from.clear();
  return options;
}

ProcessPlace place_of_process(const JobConfig& job, const RunOptions& options) {
  const Share worker = options.share.worker;
  ProcessPlace place{
      .ranks = ranks_of_process(job, options), .first_rank = std::nullopt, .share = options.share};
  // Nodes with other numbers of ranks may come before a later one.
  const bool equal = options.num_nodes && !job.node.ranks;
  const bool first = options.node_index == 0 || !options.join;
  if (first || (equal && options.node_index > 0))
    place.first_rank = (std::max(0, options.node_index) * worker.count + worker.index) * place.ranks;
  return place;
}

std::vector<ProcessPlace> places_of_command(const JobConfig& job, const RunOptions& options, int processes) {
  if (processes == 1) return {place_of_process(job, options)};
  std::vector<ProcessPlace> places;
  for (int i = 0; i < processes; ++i) {
    places.push_back(
        place_of_process(job, options_of_worker(options, job, {{i, processes}, 0}, "known when it listens")));
  }
  return places;
}

std::string address_for_neighbours(const AddressOptions& address, const std::string& host,
                                   std::uint16_t port) {
  if (address.advertise) return host_port_text(address.advertise->host, port);
  if (address.listen && !is_wildcard(address.listen->host)) return host_port_text(address.listen->host, port);
  if (!is_wildcard(host)) return host_port_text(host, port);
  return host_port_text(host.find(':') == std::string::npos ? "127.0.0.1" : "::1", port);
}

}  // namespace d9d
