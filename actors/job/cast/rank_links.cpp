#include "actors/job/cast/rank_links.hpp"

#include <fmt/ranges.h>

#include <set>

#include "actors/collective.hpp"
#include "actors/tensor_lane.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/group_use.hpp"
#include "runtime/pipeline/parcel_wire.hpp"
#include "runtime/rank/group/group_worker.hpp"
#include "runtime/rank/group/rank_gradients.hpp"

namespace d9d {

RankLinks::RankLinks(const ProcessServices& process, EpochServices& epoch, const RankPlan& plan,
                     std::shared_ptr<RankGradients> gradients)
    : process_(process),
      epoch_(epoch),
      plan_(plan),
      rank_(plan.place.rank),
      gradients_(std::move(gradients)) {}

CastMember RankLinks::collective(int index, const std::string& use, const GradientGroup& group) const {
  const auto opener = [&](const std::vector<std::string>& axes, const std::string& purpose) {
    if (axes.empty()) return OpenCommunicator();
    const bool sums_gradients = index >= first_gradient_group;  // the others sum numbers of the host
    return OpenCommunicator(
        [&epoch = epoch_, rank = rank_, domain = group.domain, axes, purpose, sums_gradients] {
          return sums_gradients ? epoch.open(rank, domain, axes, purpose)
                                : epoch.open_on_host(rank, domain, axes, purpose);
        });
  };
  // Shards of tensor-parallel blocks are summed over other ranks than the rest, so their collective has a
  // name of its own.
  const std::string scattered = fmt::format("{} scattered, then {}", use, fmt::join(group.axes, "+"));
  const std::string summed = group.scatter.empty() ? use : use + " of shards";
  Collective::Options options{
      make_group_worker({use, opener(group.scatter, scattered), opener(group.axes, summed), gradients_,
                         index - first_gradient_group, process_.job().trainer.gradient_clipping.norm_type})};
  return {collective_id(rank_, index), Threading::own_thread, factory_of<Collective>(std::move(options)),
          true};
}

std::vector<CastMember> RankLinks::collectives() const {
  const GradientGroup world{flat_domain, {}, {"world"}};
  std::vector<CastMember> members{collective(step_group, "step", world),
                                  collective(metric_group, "metrics", world)};
  int index = first_gradient_group;
  for (const GradientGroup& group : process_.prepared.plan.gradient_groups)
    members.push_back(collective(index++, gradients_use, group));
  return members;
}

std::vector<ActorId> RankLinks::gradient_collectives() const {
  std::vector<ActorId> ids;
  const int count = static_cast<int>(process_.prepared.plan.gradient_groups.size());
  for (int i = 0; i < count; ++i) ids.push_back(collective_id(rank_, first_gradient_group + i));
  return ids;
}

CastMember RankLinks::lane(int sender, int receiver) const {
  const LaneEnd end = rank_ == sender ? LaneEnd::sender : LaneEnd::receiver;
  auto open = [&epoch = epoch_, &table = epoch_.table(), rank = rank_, sender, receiver] {
    std::shared_ptr<Communicator> pair = epoch.open_pair_on_host(rank, sender, receiver, "pipeline");
    const int peer = 1 - pair->rank();
    return make_parcel_wire({.communicator = std::move(pair), .peer = peer, .device = epoch.device_of(rank)},
                            table);
  };
  TensorLaneOptions options{sender, receiver, std::move(open)};
  return {lane_id(sender, receiver, end), Threading::own_thread, factory_of<TensorLane>(std::move(options)),
          true};
}

std::vector<CastMember> RankLinks::lanes(bool closes_circle) const {
  const Plan& mesh = epoch_.plan();
  std::set<std::pair<int, int>> pairs;  // sender, receiver
  const auto connect = [&](int sender, int receiver) {
    if (sender != rank_ && receiver != rank_) return;
    if (mesh.placement(sender).node != mesh.placement(receiver).node) pairs.insert({sender, receiver});
  };
  const std::vector<int>& stages = plan_.rank_of_stage;
  for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) {
    connect(stages[stage], stages[stage + 1]);
    connect(stages[stage + 1], stages[stage]);
  }
  if (closes_circle) connect(stages.back(), stages.front());
  std::vector<CastMember> members;
  for (const auto& [sender, receiver] : pairs) members.push_back(lane(sender, receiver));
  return members;
}

std::vector<CastMember> RankLinks::all(bool closes_circle) const {
  std::vector<CastMember> members = collectives();
  for (CastMember& member : lanes(closes_circle)) members.push_back(std::move(member));
  return members;
}

}  // namespace d9d
