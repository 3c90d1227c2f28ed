#pragma once
// Addresses of a node: where it listens, what HOST:PORT means.

#include <cstdint>
#include <string>

#include "actors/job/run_job.hpp"

namespace d9d {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// Input error, naming `what`, when the text is not HOST:PORT.
HostPort parse_host_port(const std::string& text, const std::string& what);

// Where this process listens: --listen, else node.listen, else loopback. Input error for an address beyond
// loopback that nothing protects.
HostPort listening_address(const JobConfig& job, const RunOptions& options);

}  // namespace d9d
