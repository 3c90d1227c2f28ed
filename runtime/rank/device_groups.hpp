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
#include "runtime/rank/pipeline_worker.hpp"

namespace d9d {

class DeviceGroups {
 public:
  // Returns the options with functions that remember the communicators they
  // open. A null device becomes the CPU.
  PipelineWorkerOptions watched(PipelineWorkerOptions options) {
    if (!options.device) options.device = cpu_device();
    if (options.device->is_cpu()) return options;
    gradients_ = options.shared;
    options.open_group = keeping(std::move(options.open_group));
    options.open_pair = keeping(std::move(options.open_pair));
    return options;
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

 private:
  template <class Open>
  Open keeping(Open open) const {
    return [open = std::move(open), opened = opened_](auto&&... arguments) {
      std::shared_ptr<Communicator> group = open(arguments...);
      opened->add(group);
      return group;
    };
  }
  void check() const {
    if (!gradients_) return;
    opened_->check();
    gradients_->reductions.check();
  }

  const std::shared_ptr<OpenCommunicators> opened_ = std::make_shared<OpenCommunicators>();
  std::shared_ptr<RankGradients> gradients_;
};

}  // namespace d9d
