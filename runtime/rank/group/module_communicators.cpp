#include "runtime/rank/group/module_communicators.hpp"

#include <thread>
#include <utility>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/decorators/traced.hpp"
#include "runtime/pipeline/lane/lane_communicator.hpp"

namespace d9d {

OpenGroup with_lane_communicators(OpenGroup open, std::function<ComputeLanes&()> lanes,
                                  const Device* device) {
  return [open = std::move(open), lanes = std::move(lanes), device](
             const std::string& domain, const std::vector<std::string>& axes,
             const std::string& use) -> std::shared_ptr<Communicator> {
    std::shared_ptr<Communicator> first = open(domain, axes, use);
    if (first->size() == 1) return first;
    std::shared_ptr<Communicator> second = open(domain, axes, use + ", lane 1");
    return make_lane_communicator({std::move(first), std::move(second)}, lanes(), device);
  };
}

OpenGroup with_tracing(OpenGroup open, CommTracing tracing, std::function<const ComputeLanes*()> lanes) {
  if (!tracing.in_compute || !tracing.stalls) return open;
  const TraceHook around =
      [tracing = std::move(tracing), lanes = std::move(lanes), computes = std::this_thread::get_id()](
          const std::string& name, std::uint64_t bytes, const std::function<void()>& call) {
        const ComputeLanes* const both = lanes();
        const bool on_lane = both != nullptr && both->current().has_value();
        if (!on_lane && std::this_thread::get_id() != computes) return call();
        if (on_lane && both->both_run()) return tracing.in_compute(name, bytes, call);
        tracing.stalls(name, bytes, [&] { tracing.in_compute(name, bytes, call); });
      };
  return [open = std::move(open), around](const std::string& domain, const std::vector<std::string>& axes,
                                          const std::string& use) -> std::shared_ptr<Communicator> {
    std::shared_ptr<Communicator> group = open(domain, axes, use);
    if (group->size() == 1) return group;
    return make_traced(std::move(group), around);
  };
}

}  // namespace d9d
