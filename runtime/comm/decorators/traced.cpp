#include "runtime/comm/decorators/traced.hpp"

#include <algorithm>
#include <array>

#include "runtime/comm/decorators/forwarding.hpp"

namespace d9d {
namespace {

std::uint64_t bytes_of(const at::Tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->nbytes();
}

// send() returns before the receiver comes, wait() does nothing on the CPU.
bool is_measured(ForwardedCall::Operation operation) {
  return operation != ForwardedCall::Operation::send && operation != ForwardedCall::Operation::wait;
}

class TracedCommunicator final : public ForwardingCommunicator {
 public:
  TracedCommunicator(std::shared_ptr<Communicator> inner, TraceHook hook)
      : ForwardingCommunicator(std::move(inner)), hook_(std::move(hook)) {
    for (std::size_t i = 0; i < names_.size(); ++i)
      names_[i] = std::string(name_of(static_cast<ForwardedCall::Operation>(i))) + " " + name();
  }

 private:
  void around(const ForwardedCall& call, Run run) override {
    if (!is_measured(call.operation)) return run(inner());
    hook_(names_[static_cast<std::size_t>(call.operation)],
          std::max(bytes_of(call.input), bytes_of(call.output)), [&] { run(inner()); });
  }

  const TraceHook hook_;
  // By operation; made once, because tracing a call must cost less than a microsecond.
  std::array<std::string, ForwardedCall::num_operations> names_;
};

}  // namespace

std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, TraceHook hook) {
  return std::make_unique<TracedCommunicator>(std::move(inner), std::move(hook));
}

}  // namespace d9d
