#pragma once
// What the actors of one process share while the membership stays the same: who runs where, the tensor
// table, and the ways to reach other ranks. Made when the job has formed; outlives the actors of its epoch.
// No torch.

#include <memory>
#include <string>
#include <vector>

#include "actors/job/process/process_services.hpp"
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
  // Returns the device on which a rank of this process computes.
  std::shared_ptr<Device> device_of(int rank) const;
  const std::shared_ptr<AwakeRanks>& awake_ranks() const { return awake_ranks_; }

  // Open communicators of a rank of this process: see CommunicatorFactory. abort() reaches them while they
  // live.
  std::shared_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use);
  std::shared_ptr<Communicator> open_on_host(int rank, const std::string& domain,
                                             const std::vector<std::string>& axes, const std::string& use);
  std::shared_ptr<Communicator> open_pair(int rank, int sender, int receiver, const std::string& use);
  std::shared_ptr<Communicator> open_pair_on_host(int rank, int sender, int receiver, const std::string& use);
  // Call it when the rank has seen the end of a step that used all of its groups. From then on the deadline
  // of a call between devices follows from step_timeout instead of init_timeout.
  void a_step_has_ended(int rank) const;
  // Makes every wait for another rank fail with `reason`, now and later. Any thread.
  void abort(const std::string& reason) noexcept;

 private:
  void say_who_uses_devices(const std::vector<RankMemory>& memory) const;
  std::shared_ptr<Communicator> kept(std::shared_ptr<Communicator> communicator);

  const Membership membership_;
  const Plan plan_;
  const std::uint64_t first_batch_;
  const DeviceKind device_kind_;
  const DevicePlaces places_;  // unused with `device: cpu`
  const std::shared_ptr<AwakeRanks> awake_ranks_;
  TensorTable table_;
  SharedMemoryHub hub_;
  const std::chrono::milliseconds later_call_timeout_;
  std::unique_ptr<SocketTransport> transport_;  // null in a job of one node
  const CommunicatorFactory factory_;
  OpenCommunicators open_;
};

}  // namespace d9d
