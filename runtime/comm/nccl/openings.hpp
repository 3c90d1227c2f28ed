#pragma once
// Which groups the ranks of this process wait to open. Ranks that open groups in different orders wait for each other;
// the error at the deadline names these groups.

#include <map>
#include <mutex>
#include <string>

namespace d9d::nccl {

// Thread-safe.
class Openings {
 public:
  void begin(int rank, const std::string& group);
  void end(int rank, const std::string& group);  // not after a failure
  // "; rank 1 waits to open tp[0,1]/stage@1" for each of the other ranks that waits for something.
  std::string others(int rank) const;

 private:
  mutable std::mutex mutex_;
  std::multimap<int, std::string> waiting_;
};

}  // namespace d9d::nccl
