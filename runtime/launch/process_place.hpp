#pragma once
// How a command shares its ranks among the processes of its host (`node.processes`), and what each of them has. Pure.

#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/host_share.hpp"
#include "runtime/launch/own_address.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

struct ProcessPlace {
  int ranks = 1;
  std::optional<int> first_rank = 0;  // none: known only when the job has formed
  HostShare share{};                  // of its host

  std::string text() const;  // "ranks 2, 3"; "2 ranks" before it is known which
};

// 1: the command computes itself. Where nothing is said: one for each rank that has a GPU of its own, where NCCL may
// join them; else 1. `devices_here`: of this host, 0 without. Input error that names key and remedy where
// the ranks, the devices or the addresses of this host cannot be shared in that way.
int processes_of(const JobConfig& job, const RunOptions& options, int devices_here);

// Whether the processes of one command are all of the job.
bool has_whole_mesh(const JobConfig& job, int ranks_here, const HostShare& share);

// What one of the processes is told instead of what its command was told. `join`: where node 0 is, if elsewhere.
RunOptions options_of_worker(RunOptions options, const JobConfig& job, const Worker& worker,
                             const std::string& join);

ProcessPlace place_of_process(const JobConfig& job, const RunOptions& options);
// Of all processes that the command starts.
std::vector<ProcessPlace> places_of_command(const JobConfig& job, const RunOptions& options, int processes);

// Where the other processes of this host reach node 0, which has bound `host` and `port`.
std::string address_for_neighbours(const AddressOptions& address, const std::string& host,
                                   std::uint16_t port);

}  // namespace d9d
