#include "runtime/pipeline/lane/lane_communicator.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/decorators/forwarding.hpp"

namespace d9d {
namespace {

class LaneCommunicator final : public ForwardingCommunicator {
 public:
  LaneCommunicator(std::vector<std::shared_ptr<Communicator>> by_lane, ComputeLanes& lanes)
      : ForwardingCommunicator(by_lane.at(0)), by_lane_(std::move(by_lane)), lanes_(lanes) {
    D9D_CHECK(by_lane_.size() == ComputeLanes::num_lanes, "{} communicators for {} lanes", by_lane_.size(),
              ComputeLanes::num_lanes);
  }

  void abort(const std::string& reason) noexcept override {
    for (const auto& communicator : by_lane_) communicator->abort(reason);
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    for (const auto& communicator : by_lane_) communicator->set_timeout(timeout);
  }

 private:
  void around(const ForwardedCall& call, Run run) override {
    Communicator& mine = *by_lane_[static_cast<std::size_t>(lanes_.current().value_or(0))];
    const bool waits_for_ranks =
        call.operation != ForwardedCall::Operation::send && call.operation != ForwardedCall::Operation::wait;
    if (!waits_for_ranks) return run(mine);
    const ComputeLanes::YieldWhileWaiting waits(lanes_);
    run(mine);
  }

  const std::vector<std::shared_ptr<Communicator>> by_lane_;
  ComputeLanes& lanes_;
};

}  // namespace

std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes) {
  return std::make_unique<LaneCommunicator>(std::move(by_lane), lanes);
}

}  // namespace d9d
