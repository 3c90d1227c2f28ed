#pragma once
// Finds failed collectives of a device. A collective that fails on a device ends as if it were
// done, so after each wait of the host the communicators that the rank has opened are asked for
// errors. Does nothing on the CPU.

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/open_communicators.hpp"
#include "runtime/device/device.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/group/rank_services.hpp"

namespace d9d {

class DeviceGroups {
 public:
  // Returns the services with functions that remember the communicators they
  // open. A null device becomes the CPU.
  RankServices watched(RankServices services) {
    if (!services.device) services.device = cpu_device();
    if (services.device->is_cpu()) return services;
    gradients_ = services.gradients;
    services.open_group = keeping(std::move(services.open_group));
    services.open_pair = keeping(std::move(services.open_pair));
    return services;
  }

  // Calls `work`, which ends with a wait of the host, and asks for errors. If both fail, it throws the
  // communicators' error: it is the cause.
  template <class Work>
  std::invoke_result_t<Work> checked(Work&& work) const {
    try {
      auto result = work();
      check();
      return result;
    } catch (const std::exception&) {
      check();
      throw;
    }
  }

  // Throws the error of a failed collective. Call it after the host has waited.
  void check() const {
    if (!gradients_) return;
    opened_->check();
    gradients_->reductions.check();
  }

 private:
  template <class Open>
  Open keeping(Open open) const {
    return [open = std::move(open), opened = opened_](auto&&... arguments) {
      std::shared_ptr<Communicator> group = open(arguments...);
      opened->add(group);
      return group;
    };
  }

  const std::shared_ptr<OpenCommunicators> opened_ = std::make_shared<OpenCommunicators>();
  std::shared_ptr<RankGradients> gradients_;
};

}  // namespace d9d
