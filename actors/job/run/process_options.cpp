#include "actors/job/run/process_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/host/descriptors.hpp"
#include "runtime/base/host_limits.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/job_difference.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/launch/host_cores.hpp"
#include "runtime/launch/node_address.hpp"

namespace d9d {
namespace {

// Returns the keys on which nodes must agree: all but `node`, and the kind of its device, because ranks on
// a device and ranks on a CPU cannot sum together.
std::string keys_of_all_nodes(const JobConfig& job) {
  config::Json keys = parse_json<config::Json>(shared_keys(job));
  keys["node"]["device"] = resolved_keys(job).at("node").at("device");
  return json_text(keys);
}

}  // namespace

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

int threads_per_rank(const JobConfig& job, const RunOptions& options) {
  if (job.node.threads_per_rank) return static_cast<int>(*job.node.threads_per_rank);
  return std::max(1, cores_of_process(options.share) / ranks_of_process(job, options));
}

void require_room(const JobConfig& job, const RunOptions& options) {
  constexpr int threads_of_a_rank = 6;  // stage, loader, collectives
  constexpr int threads_of_a_process = 12;
  constexpr std::uint64_t stack = 8 << 20;
  constexpr std::uint64_t buffers = 384 << 20;
  const int ranks = ranks_of_process(job, options);
  const int threads = ranks * (threads_of_a_rank + threads_per_rank(job, options)) + threads_of_a_process;
  require_address_space(static_cast<std::uint64_t>(threads) * stack + buffers);
  require_threads(threads);
}

std::shared_ptr<const net::Tls> tls_of(const JobConfig& job) {
  if (!job.node.tls) return nullptr;
  const auto& tls = *job.node.tls;
  return std::make_shared<net::Tls>(
      net::TlsFiles{.ca = tls.ca, .certificate = tls.certificate, .key = tls.key});
}

net::GateOptions gate_options(const RunOptions& options) {
  // Where the limit cannot be raised, strangers at the gate get an eighth of it.
  const std::uint64_t descriptors = raise_descriptor_limit();
  return {.newcomers_max = std::clamp<std::uint64_t>(descriptors / 8, 8, 128),
          .secret = options.secret,
          .awaits_membership = true,
          .takes_joins = !options.join};
}

SystemOptions system_options(const JobConfig& job, net::Gate& gate) {
  return {.heartbeat_interval = std::chrono::milliseconds(job.node.heartbeat_ms),
          .connection_timeout = std::chrono::milliseconds(job.node.heartbeat_ms * 10),
          .gate = &gate};
}

namespace {

// The processes of a command, and those that a launcher numbers on their host, know of each other.
std::uint64_t host_number(const RunOptions& options) {
  const Share& launched = options.share.launched;
  if (options.command != 0 || launched.count == 1 || options.node_index < launched.index)
    return options.command;
  return static_cast<std::uint64_t>(options.node_index - launched.index) + 1;
}

}  // namespace

NodeOptions node_options(const JobConfig& job, const RunOptions& options) {
  const std::uint32_t ranks = ranks_offered(job, options);
  NodeOptions node{
      .first = !options.join,
      .join_timeout = std::chrono::seconds(job.node.join_timeout),
      .init_timeout = std::chrono::seconds(job.trainer.timeout.init_timeout),
      .ranks = ranks,
      .node_index = options.node_index,
      .command = options.command,
      .place = static_cast<std::uint32_t>(options.share.worker.index),
      .host_number = host_number(options),
      .opens_port = options.join || options.listen || job.node.listen || ranks != 0,
      .address = address_options(job, options),
      .build = options.build,
      .job_hash = fmt::format("{:016x}", job_fingerprint(job) + static_cast<std::uint64_t>(job.node.device)),
      .job_keys = keys_of_all_nodes(job),
      .incarnation = random_number() >> 16,
      .events = job.inference ? "inference" : "train",
      .has_token = options.secret.kind == net::SecretKind::token};
  if (options.join) node.join = address_of_first_node(options);
  return node;
}

std::string job_tag(std::uint64_t incarnation_of_node_0) {
  return fmt::format("{:012x}", incarnation_of_node_0);
}

}  // namespace d9d
