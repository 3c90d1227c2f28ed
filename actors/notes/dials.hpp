#pragma once
// Whom a node calls and who has not answered yet. The Node's bookkeeping; it says what people should hear.

#include <map>
#include <string>

#include "runtime/base/host/host_port.hpp"

namespace d9d {

class Dials {
 public:
  void begin(int node, HostPort at) { open_[node] = {std::move(at), {}}; }
  bool open(int node) const { return open_.contains(node); }
  const HostPort& address(int node) const { return open_.at(node).at; }
  void answered(int node) { open_.erase(node); }
  bool all_answered() const { return open_.empty(); }
  // A try failed, and there will be another. True when people do not know this reason yet.
  bool failed(int node, const std::string& reason);

  // "node 2 at 10.0.0.3:4711 (no answer)", of all that are open.
  std::string missing() const;

 private:
  struct Dial {
    HostPort at;
    std::string reason;  // of the last failure
  };
  std::map<int, Dial> open_;
};

}  // namespace d9d
