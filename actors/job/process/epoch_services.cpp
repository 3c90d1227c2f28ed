#include "actors/job/process/epoch_services.hpp"

#include <algorithm>
#include <map>

#include "actors/job/process/node_devices.hpp"
#include "actors/job/process/table_slots.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/memory_report.hpp"
#include "runtime/rank/state/awake_ranks.hpp"
#include "runtime/resume/schedule_steps.hpp"

namespace d9d {
namespace {

TableUse table_use(const ProcessServices& process) {
  const JobConfig& job = process.job();
  const JobPlan& plan = process.prepared.plan;
  TableUse use{.microbatches = static_cast<std::size_t>(plan.microbatches * process.prepared.phases.size()),
               .stages = static_cast<std::size_t>(plan.topology.stages_per_rank()),
               .prefetch_steps = static_cast<std::size_t>(job.trainer.data_prefetch.prefetch_factor)};
  if (job.evaluation) use.evaluation_ahead = static_cast<std::size_t>(job.mesh.pipeline_parallel);
  return use;
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

DevicePlaces places_of(const ProcessServices& process, const Membership& membership) {
  const JobConfig& job = process.job();
  if (job.node.device == DeviceKind::cpu) return {};
  const bool is_cuda = job.node.device == DeviceKind::cuda;
  const int ranks = membership.ranks_per_node.at(static_cast<std::size_t>(membership.node));
  require_protected_collectives(job, ranks, process.share, membership.addresses);
  return places_on_node(job, ranks,
                        is_cuda ? load_devices(job.node.device).num_devices() : delayed_devices(ranks),
                        process.share);
}

// Returns the deadline of a call between devices: three quarters of the step's deadline, so that the call
// is late first. Its error names the call, while that of the step only says that a rank computes. The first
// calls get init_timeout, because ranks come to them as late as they come to the first step.
std::chrono::milliseconds call_timeout(std::int64_t seconds_of_step) {
  return std::chrono::milliseconds(750 * seconds_of_step);
}

DeviceCollectives device_collectives(const JobConfig& job, const DevicePlaces& places, const Plan& plan) {
  using Kind = DeviceCollectives::Kind;
  if (job.node.device == DeviceKind::cpu) return {};
  if (places.collectives == CollectivesKind::local) return {.kind = Kind::local};
  return {.kind = Kind::nccl,
          .nccl = &load_devices(job.node.device).nccl(),
          .device_of = [places, &plan](int rank) { return places.of(plan.placement(rank).local_index); },
          .call_timeout = call_timeout(job.trainer.timeout.init_timeout)};
}

}  // namespace

EpochServices::EpochServices(const ProcessServices& process, const Membership& membership)
    : membership_(membership),
      plan_(process.job().mesh, membership.ranks_per_node, membership.host_numbers),
      first_batch_(first_batch_of(membership.resume_state, process.job())),
      device_kind_(process.job().node.device),
      places_(places_of(process, membership)),
      awake_ranks_(std::make_shared<AwakeRanks>()),
      table_(plan_.ranks_of_node(membership.node).size() * table_slots_of_a_rank(table_use(process))),
      later_call_timeout_(call_timeout(process.job().trainer.timeout.step_timeout)),
      transport_(make_transport(process.gate, membership, plan_)),
      factory_(plan_, hub_, transport_.get(),
               {.timeout = std::chrono::seconds(process.job().trainer.timeout.init_timeout),
                .check_collectives = process.job().debug.check_collectives,
                .devices = device_collectives(process.job(), places_, plan_),
                .epoch = membership.epoch}) {
  if (device_kind_ != DeviceKind::cpu) say_who_uses_devices(process.memory);
}

// Tells reports of full devices which ranks share each device and how much memory they should need.
void EpochServices::say_who_uses_devices(const std::vector<RankMemory>& memory) const {
  std::map<int, DeviceUse> uses;  // by device
  std::map<int, c10::Device> places;
  for (const int rank : plan_.ranks_of_node(membership_.node)) {
    const RankPlacement placement = plan_.placement(rank);
    const int device = places_.of(placement.local_index);
    places.emplace(device, device_of(rank)->place());
    DeviceUse& use = uses[device];
    use.ranks.push_back(rank);
    const auto at = static_cast<std::size_t>(placement.pipeline);
    if (at >= memory.size()) continue;
    use.expected.state += static_cast<std::uint64_t>(memory[at].state());
    use.expected.activations += static_cast<std::uint64_t>(memory[at].on_device() - memory[at].state());
  }
  for (auto& [device, use] : uses) set_device_use(places.at(device), std::move(use));
}

std::shared_ptr<Device> EpochServices::device_of(int rank) const {
  const int device = places_.of(plan_.placement(rank).local_index);
  return device_kind_ == DeviceKind::cpu ? cpu_device() : load_devices(device_kind_).device(device);
}

std::shared_ptr<Communicator> EpochServices::open(int rank, const std::string& domain,
                                                  const std::vector<std::string>& axes,
                                                  const std::string& use) {
  return kept(factory_.open(rank, domain, axes, use));
}

std::shared_ptr<Communicator> EpochServices::open_on_host(int rank, const std::string& domain,
                                                          const std::vector<std::string>& axes,
                                                          const std::string& use) {
  return kept(factory_.open_on_host(rank, domain, axes, use));
}

std::shared_ptr<Communicator> EpochServices::open_pair(int rank, int sender, int receiver,
                                                       const std::string& use) {
  return kept(factory_.open_pair(rank, sender, receiver, use));
}

std::shared_ptr<Communicator> EpochServices::open_pair_on_host(int rank, int sender, int receiver,
                                                               const std::string& use) {
  return kept(factory_.open_pair_on_host(rank, sender, receiver, use));
}

void EpochServices::a_step_has_ended(int rank) const {
  factory_.set_call_timeout(rank, later_call_timeout_);
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
