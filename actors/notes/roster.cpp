#include "actors/notes/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/job/job_difference.hpp"
#include "runtime/resume/node_inputs.hpp"

namespace d9d {

int Roster::ranks() const {
  int ranks = 0;
  for (const Member& member : members_) ranks += member.ranks;
  return ranks;
}

bool Roster::knows(std::uint64_t incarnation) const {
  return std::any_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.incarnation == incarnation; });
}

std::string Roster::reason_to_refuse(wire::Join::Reader join) const {
  const int left = world_size_ - ranks();
  const std::int64_t offered = join.getRanks();
  if (join.getBuild() != identity_.build) {
    return fmt::format(
        "it runs another build of d9d: {} here, {} there. Install the same version on every host",
        identity_.build, std::string(join.getBuild()));
  }
  if (join.getJobHash() != identity_.job_hash) {
    const std::string differing = told(key_differences(identity_.keys, join.getKeys()), "at node 0", "there");
    return fmt::format(
        "its job file differs from node 0's in {}. All sections but `node` must be equal on every host, and "
        "node.device too",
        differing.empty() ? fmt::format("its hash ({} at node 0, {} there)", identity_.job_hash,
                                        std::string(join.getJobHash()))
                          : differing);
  }
  if (std::string reason = told_other_inputs(identity_.inputs, std::string(join.getInputs()));
      !reason.empty())
    return reason;
  if (std::string reason = trouble_with_address(join); !reason.empty()) return reason;
  if (closed_ || left == 0) {
    return fmt::format(
        "the mesh needs {} and all of them are taken; set node.ranks (or --ranks) on each host so that they "
        "add up",
        counted(world_size_, "rank"));
  }
  if (offered > left) {
    return fmt::format("it offers {} but the mesh of {} has only {} left; set node.ranks (or --ranks)",
                       counted(offered, "rank"), world_size_, left);
  }
  return {};
}

// Checks that all other nodes can reach the address of this one.
std::string Roster::trouble_with_address(wire::Join::Reader join) const {
  const std::string host = join.getHost();
  for (const Member& member : members_) {
    if (member.host.empty() || host.empty()) continue;  // node 0: known by where each node dialled it
    if (member.port != 0 && member.port == join.getPort() && member.host == host) {
      return fmt::format(
          "it announces {}, as another node does; node.advertise and --listen differ from host to host",
          host_port_text(host, member.port));
    }
    if (is_loopback(member.host) != is_loopback(host)) {
      return fmt::format(
          "it announces {} and another node {}, but only processes of one host reach each other by "
          "loopback; give all of them an address of node 0 for --join that all hosts reach",
          host, member.host);
    }
  }
  return {};
}

void Roster::add(wire::Join::Reader join, MailboxPtr mailbox, ActorId id) {
  const int ranks = join.getRanks() == 0 ? world_size_ - this->ranks() : static_cast<int>(join.getRanks());
  members_.push_back({std::move(mailbox), id, join.getHost(), join.getPort(), ranks, join.getNodeIndex(),
                      join.getIncarnation(), joined_++, join.getCommand(), join.getPlace(),
                      join.getHostNumber()});
}

void Roster::remove(std::size_t node) {
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(node));
}

std::optional<std::size_t> Roster::index_of(int number) const {
  for (std::size_t index = 0; index < members_.size(); ++index) {
    if (members_[index].number == number) return index;
  }
  return std::nullopt;
}

void Roster::note_refused(const std::string& host, const std::string& reason) {
  ++refused_;
  last_refusal_ = fmt::format("at {}: {}", host, reason);
}

std::string Roster::missing() const {
  const std::string here = fmt::format("only {} of {} ranks are here", ranks(), world_size_);
  if (refused_ == 0) return here;
  return fmt::format("{} ({} refused, the last {})", here,
                     refused_ == 1 ? "1 node was" : fmt::format("{} were", refused_), last_refusal_);
}

// The arrival of the first process of the member's command.
int Roster::arrival(const Member& member) const {
  if (member.command == 0) return member.number;
  int first = member.number;
  for (const Member& other : members_) {
    if (other.command == member.command) first = std::min(first, other.number);
  }
  return first;
}

void Roster::close() {
  closed_ = true;
  std::vector<std::pair<std::tuple<int, int, std::uint32_t>, Member>> keyed;
  for (Member& member : members_) {
    keyed.push_back({{member.wish < 0 ? INT32_MAX : member.wish, arrival(member), member.place}, member});
  }
  // The first member is node 0 and keeps its place.
  std::stable_sort(keyed.begin() + 1, keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  members_.clear();
  for (auto& [key, member] : keyed) members_.push_back(std::move(member));
}

}  // namespace d9d
