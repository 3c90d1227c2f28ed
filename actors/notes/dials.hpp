#pragma once
// The nodes that this node has no connection with yet: those that it dials, and those that dial it. The Node's
// bookkeeping, with the texts for the log.

#include <map>
#include <string>

#include "runtime/base/host/host_port.hpp"

namespace d9d {

class Dials {
 public:
  void begin(int node, HostPort at) { open_[node] = {std::move(at)}; }
  // `node` will dial.
  void await(int node, HostPort at) { open_[node] = {std::move(at), true}; }
  bool open(int node) const { return open_.contains(node); }
  const HostPort& address(int node) const { return open_.at(node).at; }
  void answered(int node) { open_.erase(node); }
  bool all_answered() const { return open_.empty(); }
  // Notes that a try failed; there will be another. True when the reason is new and should be logged.
  bool failed(int node, const std::string& reason);

  // The nodes without a connection, for people: "node 2 at 10.0.0.3:4711 (no answer)".
  std::string missing() const;

 private:
  struct Dial {
    HostPort at;
    bool dials_us = false;
    std::string reason = {};  // of the last failure
  };
  std::map<int, Dial> open_;
};

}  // namespace d9d
