#include "actors/job/epoch_services.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"

namespace d9d {
namespace {

// Slots of the tensor table, summed by reason.
std::size_t table_slots_of_a_rank(const ProcessServices& process) {
  const JobConfig& job = process.job();
  const auto steps = static_cast<std::size_t>(job.trainer.data_prefetch.prefetch_factor) + 1;
  // Of all phases; an evaluation has those of a whole batch.
  const auto microbatches = static_cast<std::size_t>(microbatches_per_step(job) * process.phases.size());
  const auto stages = static_cast<std::size_t>(stages_per_rank(process.schedule()));
  const std::size_t inputs = steps * microbatches;          // of the step that waits and those ahead of it
  const std::size_t transfers = 4 * microbatches * stages;  // activations and gradients, both ways
  const std::size_t snapshots = 2;
  return inputs + transfers + snapshots;
}

std::unique_ptr<SocketTransport> make_transport(net::Gate& gate, const Membership& membership,
                                                const Plan& plan) {
  if (membership.ranks_per_node.size() < 2) return nullptr;
  return std::make_unique<SocketTransport>(
      gate, SocketTransportOptions{.node = membership.node,
                                   .nodes = membership.addresses,
                                   .node_of = [&plan](int rank) { return plan.placement(rank).node; },
                                   .job = membership.tag});
}

CommunicatorOptions communicator_options(const JobConfig& job, const Membership& membership) {
  const bool delayed = job.node.device == DeviceKind::delayed;
  D9D_REQUIRE(!delayed || membership.ranks_per_node.size() == 1,
              "node.device: delayed, and the job has {} nodes: delayed devices are those of one process; set "
              "node.device: cpu, or start one node",
              membership.ranks_per_node.size());
  return {.timeout = std::chrono::seconds(job.trainer.timeout.init_timeout),
          .check_collectives = job.debug.check_collectives,
          .devices = delayed,
          .epoch = membership.epoch};
}

}  // namespace

EpochServices::EpochServices(const ProcessServices& process, const Membership& membership)
    : membership_(membership),
      plan_(process.job().mesh, membership.ranks_per_node),
      table_(plan_.ranks_of_node(membership.node).size() * table_slots_of_a_rank(process)),
      transport_(make_transport(process.gate, membership, plan_)),
      factory_(plan_, hub_, transport_.get(), communicator_options(process.job(), membership)) {}

std::shared_ptr<Communicator> EpochServices::open(int rank, const std::string& domain,
                                                  const std::vector<std::string>& axes,
                                                  const std::string& use) {
  return kept(factory_.open(rank, domain, axes, use));
}

std::shared_ptr<Communicator> EpochServices::open_pair(int rank, int sender, int receiver,
                                                       const std::string& use) {
  return kept(factory_.open_pair(rank, sender, receiver, use));
}

std::shared_ptr<Communicator> EpochServices::kept(std::shared_ptr<Communicator> communicator) {
  open_.add(communicator);
  return communicator;
}

void EpochServices::abort(const std::string& reason) noexcept {
  hub_.abort_all(reason);
  factory_.abort_devices(reason);
  if (transport_) transport_->abort(reason);
  open_.abort_all(reason);
}

}  // namespace d9d
