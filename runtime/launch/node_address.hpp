#pragma once
// The addresses of a node, from its job file and command line.

#include "runtime/launch/own_address.hpp"
#include "runtime/launch/run_options.hpp"

namespace d9d {

// Where this process listens and as what: --listen, node.advertise; on node 0 also node.listen, else loopback.
// Input error for an address beyond loopback that nothing protects, here or where --join leads.
AddressOptions address_options(const JobConfig& job, const RunOptions& options);

// Where node 0 listens, of a process that joins (--join). Input error for what cannot be dialled.
HostPort address_of_first_node(const RunOptions& options);

// Where node 0 serves the run's page: node.status, which the job has. Input error as parse_host_port().
HostPort status_address(const JobConfig& job);

}  // namespace d9d
