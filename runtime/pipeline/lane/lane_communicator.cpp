#include "runtime/pipeline/lane/lane_communicator.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/decorators/forwarding.hpp"
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

class LaneCommunicator final : public ForwardingCommunicator {
 public:
  LaneCommunicator(std::vector<std::shared_ptr<Communicator>> by_lane, ComputeLanes& lanes,
                   const Device* device)
      : ForwardingCommunicator(by_lane.at(0)), by_lane_(std::move(by_lane)), lanes_(lanes), device_(device) {
    D9D_CHECK(by_lane_.size() == ComputeLanes::num_lanes, "{} communicators for {} lanes", by_lane_.size(),
              ComputeLanes::num_lanes);
  }

  void abort(const std::string& reason) noexcept override {
    for (const auto& communicator : by_lane_) communicator->abort(reason);
  }
  void connect() override {
    for (const auto& communicator : by_lane_) communicator->connect();
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    for (const auto& communicator : by_lane_) communicator->set_timeout(timeout);
  }

 private:
  void around(const ForwardedCall& call, Run run) override {
    Communicator& mine = *by_lane_[static_cast<std::size_t>(lanes_.current().value_or(0))];
    if (!waits_for_ranks(call)) {
      run(mine);
      // Behind the call: the stream is to wait for what this lane has given, and not for what the other one will.
      const bool needs_result = call.operation == ForwardedCall::Operation::wait && device_ != nullptr &&
                                computes(device_->current_stream());
      if (needs_result) {
        const ComputeLanes::YieldWhileWaiting next(lanes_);
      }
      return;
    }
    const ComputeLanes::YieldWhileWaiting waits(lanes_);
    run(mine);
  }
  bool waits_for_ranks(const ForwardedCall& call) const {
    const at::Tensor* const tensor = call.output != nullptr ? call.output : call.input;
    const bool is_late = device_ != nullptr && tensor != nullptr && !tensor->is_cpu();
    return !is_late && call.operation != ForwardedCall::Operation::send &&
           call.operation != ForwardedCall::Operation::wait;
  }

  const std::vector<std::shared_ptr<Communicator>> by_lane_;
  ComputeLanes& lanes_;
  const Device* const device_;
};

}  // namespace

std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes, const Device* device) {
  return std::make_unique<LaneCommunicator>(std::move(by_lane), lanes, device);
}

}  // namespace d9d
