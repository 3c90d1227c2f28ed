#pragma once
// Replaces names by small numbers, so that a span has a fixed size.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d9d::trace {

// A track of the trace: an actor, or something else, such as a rank's memory counter.
struct ActorName {
  std::string name;  // "stage 1", "trainer"
  int rank = -1;     // global rank it belongs to; -1: the whole node
  int node = 0;
  bool operator==(const ActorName&) const = default;
};

class Names {
 public:
  explicit Names(int node = 0) : node_(node) {}

  void set_node(int node);

  // The same text (or actor) always gets the same id. Ids count from 0.
  std::uint32_t intern(std::string_view text);
  std::uint32_t actor(std::string_view name, int rank);

  // Copies, indexed by id.
  std::vector<std::string> texts() const;
  std::vector<ActorName> actors() const;

 private:
  mutable std::mutex mutex_;
  int node_;
  std::map<std::string, std::uint32_t, std::less<>> text_ids_;
  std::map<std::pair<std::string, int>, std::uint32_t> actor_ids_;
};

}  // namespace d9d::trace
