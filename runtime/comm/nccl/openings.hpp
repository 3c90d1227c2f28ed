#pragma once
// The groups that the ranks of this process are waiting to open. Ranks that open groups in different
// orders wait for each other; the error after the timeout then names these groups.

#include <map>
#include <mutex>
#include <string>

namespace d9d::nccl {

// Thread-safe.
class Openings {
 public:
  void begin(int rank, const std::string& group);
  void end(int rank, const std::string& group);  // not after a failure
  // Returns "; rank 1 waits to open tp[0,1]/stage@1" for each group that another rank waits to open.
  std::string others(int rank) const;

 private:
  mutable std::mutex mutex_;
  std::multimap<int, std::string> waiting_;
};

}  // namespace d9d::nccl
