#include "runtime/rank/rank_groups.hpp"

#include <map>
#include <thread>
#include <tuple>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/decorators/traced.hpp"
#include "runtime/pipeline/lane_communicator.hpp"

namespace d9d {
namespace {

class RankGroups final : public StageGroups {
 public:
  RankGroups(const Plan& plan, int rank, OpenGroup open) : plan_(plan), rank_(rank), open_(std::move(open)) {}

  const MeshDomains& domains() const override { return plan_.domains(); }
  int rank() const override { return rank_; }
  std::shared_ptr<Communicator> open(const std::string& domain, const std::vector<std::string>& axes,
                                     const std::string& use) override {
    std::shared_ptr<Communicator>& group = opened_[{domain, axes, use}];
    if (!group) group = open_(domain, axes, use);
    return group;
  }

 private:
  const Plan& plan_;
  const int rank_;
  const OpenGroup open_;
  std::map<std::tuple<std::string, std::vector<std::string>, std::string>, std::shared_ptr<Communicator>>
      opened_;
};

}  // namespace

OpenGroup with_lane_communicators(OpenGroup open, std::function<ComputeLanes&()> lanes) {
  return [open = std::move(open), lanes = std::move(lanes)](
             const std::string& domain, const std::vector<std::string>& axes,
             const std::string& use) -> std::shared_ptr<Communicator> {
    std::shared_ptr<Communicator> first = open(domain, axes, use);
    if (first->size() == 1) return first;
    std::shared_ptr<Communicator> second = open(domain, axes, use + ", lane 1");
    return make_lane_communicator({std::move(first), std::move(second)}, lanes());
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

std::unique_ptr<StageGroups> make_rank_groups(const Plan& plan, int rank, OpenGroup open) {
  return std::make_unique<RankGroups>(plan, rank, std::move(open));
}

}  // namespace d9d
