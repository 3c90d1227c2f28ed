#include "runtime/comm/decorators/reopened.hpp"

#include <optional>

#include "runtime/comm/decorators/forwarding.hpp"

namespace d9d {

class ReopenedCommunicator final : public ForwardingCommunicator {
 public:
  ReopenedCommunicator(std::shared_ptr<Communicator> first, ReopenedCommunicators::Open open)
      : ForwardingCommunicator(std::move(first)), open_(std::move(open)) {}

  // The destructor of `gone` may wait for launches. It runs after the lock is released, so
  // abort() is not blocked.
  void close() {
    std::shared_ptr<Communicator> gone;
    const std::lock_guard lock(mutex_);
    gone = replace_inner(nullptr);
  }
  // Opens without the lock, because abort() must not wait for other ranks. If the job ends meanwhile,
  // the new communicator is aborted itself (open_communicators.hpp).
  void reopen() {
    std::shared_ptr<Communicator> again = open_();
    if (timeout_) again->set_timeout(*timeout_);
    if (connects_) again->connect();
    const std::lock_guard lock(mutex_);
    replace_inner(std::move(again));
  }

  void abort(const std::string& reason) noexcept override {
    const std::lock_guard lock(mutex_);
    if (is_open()) ForwardingCommunicator::abort(reason);
  }
  void connect() override {
    connects_ = true;
    ForwardingCommunicator::connect();
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
    ForwardingCommunicator::set_timeout(timeout);
  }

 private:
  void around(const ForwardedCall& /*call*/, Run run) override { run(inner()); }

  const ReopenedCommunicators::Open open_;
  std::optional<std::chrono::milliseconds> timeout_;
  bool connects_ = false;
  std::mutex mutex_;  // inner() is replaced by its owner and read by abort()
};

ReopenedCommunicators::ReopenedCommunicators() = default;
ReopenedCommunicators::~ReopenedCommunicators() = default;

std::shared_ptr<Communicator> ReopenedCommunicators::open(Open open) {
  std::shared_ptr<Communicator> first = open();
  if (first->size() == 1) return first;
  auto opened = std::make_shared<ReopenedCommunicator>(std::move(first), std::move(open));
  const std::lock_guard lock(mutex_);
  opened_.push_back(opened);
  return opened;
}

std::vector<std::shared_ptr<ReopenedCommunicator>> ReopenedCommunicators::still_held() {
  const std::lock_guard lock(mutex_);
  std::erase_if(opened_, [](const auto& weak) { return weak.expired(); });
  std::vector<std::shared_ptr<ReopenedCommunicator>> all;
  for (const auto& weak : opened_) {
    if (auto communicator = weak.lock()) all.push_back(std::move(communicator));
  }
  return all;
}

std::size_t ReopenedCommunicators::close() {
  const auto all = still_held();
  for (const auto& communicator : all) communicator->close();
  return all.size();
}

void ReopenedCommunicators::reopen() {
  for (const auto& communicator : still_held()) communicator->reopen();
}

}  // namespace d9d
