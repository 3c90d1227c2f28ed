#pragma once
// What the actors of one process share as long as the membership stays: who runs where, the tensor table, and
// the ways to reach other ranks. Made when the job has formed; outlives the actors of its epoch. No torch.

#include <memory>
#include <string>
#include <vector>

#include "actors/job/process_services.hpp"
#include "actors/notes/membership.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/comm/open_communicators.hpp"
#include "runtime/launch/device_places.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

class AwakeRanks;
class Device;

class EpochServices {
 public:
  EpochServices(const ProcessServices& process, const Membership& membership);

  const Membership& membership() const { return membership_; }
  const Plan& plan() const { return plan_; }
  TensorTable& table() { return table_; }
  std::uint64_t first_batch() const { return first_batch_; }  // samples of the run's first step
  // What a rank of this process computes on.
  std::shared_ptr<Device> device_of(int rank) const;
  const std::shared_ptr<AwakeRanks>& awake_ranks() const { return awake_ranks_; }

  // Communicators of a rank of this process: see CommunicatorFactory. abort() reaches them while they live.
  std::shared_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use);
  std::shared_ptr<Communicator> open_on_host(int rank, const std::string& domain,
                                             const std::vector<std::string>& axes, const std::string& use);
  std::shared_ptr<Communicator> open_pair(int rank, int sender, int receiver, const std::string& use);
  std::shared_ptr<Communicator> open_pair_on_host(int rank, int sender, int receiver, const std::string& use);
  // The rank has seen the end of a step in which all of its groups were used: calls between devices are now late after a
  // part of step_timeout, as before of init_timeout.
  void a_step_has_ended(int rank) const;
  // From any thread: every wait for another rank fails with `reason`, those of now and all later ones.
  void abort(const std::string& reason) noexcept;

 private:
  void say_who_uses_devices(const std::vector<ExpectedMemory>& expected) const;
  std::shared_ptr<Communicator> kept(std::shared_ptr<Communicator> communicator);

  const Membership membership_;
  const Plan plan_;
  const std::uint64_t first_batch_;
  const DeviceKind device_kind_;
  const DevicePlaces places_;  // of device: cpu without meaning
  const std::shared_ptr<AwakeRanks> awake_ranks_;
  TensorTable table_;
  SharedMemoryHub hub_;
  const std::chrono::milliseconds later_call_timeout_;
  std::unique_ptr<SocketTransport> transport_;  // null in a job of one node
  const CommunicatorFactory factory_;
  OpenCommunicators open_;
};

}  // namespace d9d
