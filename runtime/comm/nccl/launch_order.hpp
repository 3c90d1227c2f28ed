#pragma once
// The launches of a rank on its GPU, over all of its groups. Groups that share GPUs must launch in
// the same order on all ranks, or their kernels wait for each other for ever. The histories then
// show which rank differs.

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace d9d::nccl {

struct Launched {
  std::string group;
  std::uint64_t number = 0;  // in its group, from 1
  std::string what;          // equal on all members: "all_reduce(float, 1000 elements)"

  bool operator==(const Launched&) const = default;
};

struct LaunchHistory {
  int rank = 0;                    // global
  std::set<std::string> groups;    // that the rank is in
  std::vector<Launched> launched;  // the last ones, oldest first
};
std::string encode(const LaunchHistory& history);
LaunchHistory decode_history(const std::string& text);

// Compares the launches of every two ranks in the groups that both are in. Returns "rank 1 launched A
// where rank 0 launched B" or "rank 1 has not launched A", or nothing if all agree.
std::optional<std::string> difference(const std::vector<LaunchHistory>& histories);

// The launches of one rank. Thread-safe.
class LaunchOrder {
 public:
  explicit LaunchOrder(int rank) : rank_(rank) {}

  void join(const std::string& group);
  void leave(const std::string& group);
  void add(Launched launched);
  LaunchHistory history() const;

 private:
  static constexpr std::size_t kept_max = 128;

  const int rank_;
  mutable std::mutex mutex_;
  std::set<std::string> groups_;
  std::deque<Launched> launched_;
};

}  // namespace d9d::nccl
