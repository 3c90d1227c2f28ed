#pragma once
// Section `node`: what a process is and whom it listens to.
// Unlike the rest of a job file it may differ between hosts.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/ops/backend.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/job/section/process_count.hpp"

namespace d9d::kernels {
BOOST_DESCRIBE_ENUM(AttentionBackend, auto_, own, library, composed)
BOOST_DESCRIBE_ENUM(GroupedBackend, auto_, own, library, expert_by_expert)
}  // namespace d9d::kernels

namespace d9d {

// `node.tls`: how nodes prove to each other that they are of the job.
struct TlsConfig {
  std::string ca;
  std::string certificate;
  std::string key;
};
BOOST_DESCRIBE_STRUCT(TlsConfig, (), (ca, certificate, key))
constexpr auto keys_of(config::Tag<TlsConfig>) {
  using namespace config;
  return std::array{
      Key{"ca", "", "PEM file of the job's certificate authority; peers must be signed by it", required},
      Key{"certificate", "", "PEM file of this node's certificate", required},
      Key{"key", "", "PEM file of its private key", required}};
}

enum class DeviceKind { cpu, cuda, delayed };
BOOST_DESCRIBE_ENUM(DeviceKind, cpu, cuda, delayed)
enum class CollectivesKind { local, nccl };
BOOST_DESCRIBE_ENUM(CollectivesKind, local, nccl)

struct NodeConfig {
  std::optional<std::int64_t> ranks;
  std::optional<ProcessCount> processes;
  std::optional<std::int64_t> threads_per_rank;
  DeviceKind device = DeviceKind::cpu;
  std::optional<std::int64_t> devices;
  std::optional<CollectivesKind> collectives;
  kernels::AttentionBackend attention = kernels::AttentionBackend::auto_;
  kernels::GroupedBackend grouped_product = kernels::GroupedBackend::auto_;
  std::optional<std::string> listen;
  std::optional<std::string> advertise;
  bool insecure = false;
  std::optional<TlsConfig> tls;
  bool clear_collectives = false;
  std::optional<std::string> job_token, job_token_file;
  std::optional<std::string> status;
  std::int64_t heartbeat_ms = 1000;
  bool trace = true;
  std::int64_t disk_timeout = 300;
  std::int64_t join_timeout = 600;
  std::int64_t stop_grace = 25;
};
BOOST_DESCRIBE_STRUCT(NodeConfig, (),
                      (ranks, processes, threads_per_rank, device, devices, collectives, attention,
                       grouped_product, listen, advertise, insecure, tls, clear_collectives, job_token,
                       job_token_file, status, heartbeat_ms, trace, disk_timeout, join_timeout, stop_grace))

namespace node_keys {
using config::at_least;
using config::Key;
inline constexpr std::array of_computing{
    Key{"ranks", "ranks",
        "ranks of this host's command, over all its processes; null: all of the mesh, so a job of one host",
        config::optional, at_least(1)},
    Key{"processes", "processes",
        "processes that the command starts for its ranks; `per_device`: one for each device; null: one for "
        "each rank where each has a GPU that NCCL joins, else the command itself"},
    Key{"threads_per_rank", "threads",
        "threads that a rank computes with; null: the host's cores shared evenly", config::optional,
        at_least(1)},
    Key{"device", "",
        "where ranks compute; `delayed`: the CPU as a device that works late and out of order, for tests"},
    Key{"devices", "devices",
        "the first so many of this host are used, ranks take them in turn; null: all of them, or of "
        "`delayed` one for each rank",
        config::optional, at_least(1)},
    Key{"collectives", "",
        "how ranks with devices sum and exchange: `nccl`, which takes one rank for each device, or "
        "`local`, copies and sums on the devices of this process; null: nccl between nodes, and on cuda "
        "where each rank has a device and the order of actions is static, else local"},
    Key{"attention", "",
        "which code computes attention (kernels/ops/README.md says what each can do): `own` loops or the "
        "`library`'s on CPUs, the `library`'s or `composed` products on cuda; auto: what the variable "
        "D9D_ATTENTION says, else the fastest that can"},
    Key{"grouped_product", "",
        "which code computes the products of experts: `own` loops on CPUs, the `library`'s grouped product "
        "on cuda, or `expert_by_expert`; auto: what the variable D9D_GROUPED_PRODUCT says, else the "
        "fastest that can"},
};
inline constexpr std::array of_connections{
    Key{"listen", "",
        "HOST:PORT where node 0 awaits the others: 0.0.0.0 and [::] are all addresses, port 0 chooses one; "
        "null: 127.0.0.1:0"},
    Key{"advertise", "",
        "HOST or HOST:PORT under which others reach this node, where that is not where it listens (NAT, "
        "containers); null: its address on the route to node 0"},
    Key{"insecure", "", "connect beyond this host without TLS: anyone between may read what passes"},
    Key{"tls", "", "mutual TLS; null: none"},
    Key{"clear_collectives", "",
        "with TLS and devices on several hosts: what these exchange may go in clear, as NCCL sends it"},
    Key{"job_token", "", "secret that every node must know; better in a file or in variable D9D_JOB_TOKEN"},
    Key{"job_token_file", "", "file with that secret on its only line, which other users cannot read"},
};
inline constexpr std::array of_running{
    Key{"status", "",
        "HOST:PORT where node 0 serves the run's page (/) and its numbers for Prometheus (/metrics) while "
        "it runs; beyond this host it takes `tls` (then https, for who has a certificate of `tls.ca`) or "
        "`insecure`, and its buttons (POST) take the job's token; port 0 chooses one; null: nowhere"},
    Key{"heartbeat_ms", "ms",
        "period of signs of life between nodes; a peer silent for ten of them is taken for dead",
        config::optional, at_least(10)},
    Key{"trace", "", "record a span of each message and action, written to `<output_dir>/traces`"},
    Key{"disk_timeout", "s",
        "a single call to the disk (a read, a write, a sync) that takes longer ends the job: it hangs; a "
        "plugin's tracker that takes longer gets nothing more",
        config::optional, at_least(1)},
    Key{"join_timeout", "s", "deadline of every node for all of them to have found each other",
        config::optional, at_least(1)},
    Key{"stop_grace", "s",
        "after SIGTERM or SIGINT: time for the step, a checkpoint and the files; then the process leaves",
        config::optional, at_least(1)},
};
}  // namespace node_keys
constexpr auto keys_of(config::Tag<NodeConfig>) {
  return config::join(node_keys::of_computing, node_keys::of_connections, node_keys::of_running);
}

}  // namespace d9d
