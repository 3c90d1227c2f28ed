#pragma once
// The options of a process that follow from the job and from the place of the process in it, and what it
// takes of its host.

#include <cstdint>
#include <memory>
#include <string>

#include "actors/core/system.hpp"
#include "actors/node_options.hpp"
#include "runtime/launch/run_options.hpp"
#include "runtime/net/tls.hpp"

namespace d9d {

std::uint64_t random_number();

// Returns the threads with which each rank of the process computes.
int threads_per_rank(const JobConfig& job, const RunOptions& options);
// Environment error if the process cannot have the threads or the address space that its ranks need. OpenMP
// and the allocator would hang or abort.
void require_room(const JobConfig& job, const RunOptions& options);

// Null without `node.tls`.
std::shared_ptr<const net::Tls> tls_of(const JobConfig& job);
// Raises the limit of open files as far as the system allows.
net::GateOptions gate_options(const RunOptions& options);
// `gate` outlives the system.
SystemOptions system_options(const JobConfig& job, net::Gate& gate);
// Without the functions that a Node calls, and without the Coordinator.
NodeOptions node_options(const JobConfig& job, const RunOptions& options);
// Returns the text by which the nodes of a job recognise their own files.
std::string job_tag(std::uint64_t incarnation_of_node_0);

}  // namespace d9d
