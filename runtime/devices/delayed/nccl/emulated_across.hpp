#pragma once
// A member of an emulated communicator whose others may be in other processes of this host. When its stream comes to a
// launch, it copies its part out and tells the others; the launch goes on when theirs have come, and never where the
// calls do not match. A message waits for its receiver. A device works as well when others wait for it, as a GPU would:
// their hosts cannot do its work from another process.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/devices/delayed/nccl/emulated_comm.hpp"
#include "runtime/devices/delayed/nccl/emulated_links.hpp"

namespace d9d::nccl {

struct AcrossMessage {
  bool sends = false;
  int peer = 0;
  std::uint64_t number = 0;  // of all in its direction between the two
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
};

// Kept by the work of its launches. Thread-safe.
class EmulatedAcross : public std::enable_shared_from_this<EmulatedAcross> {
 public:
  EmulatedAcross(const std::string& name, int size, int rank, int device);

  bool whole() const { return links_.whole(); }
  // remote_error: somebody that a launch waits for is gone.
  int error() const { return error_; }

  void launch(const CollectivePart& part, std::uint64_t number, const EmulatedStream& stream,
              const delayed::Ended& ended);
  // A group call: none of them waits for the one before it.
  void launch(const std::vector<AcrossMessage>& messages, const EmulatedStream& stream,
              const delayed::Ended& ended);
  // Once, before the communicator is gone. `delivered`: what was told gets there.
  void end(bool delivered) { links_.close(delivered); }

 private:
  using Key = EmulatedFrame::Key;
  using Kind = EmulatedFrame::Kind;
  struct Launch {
    std::vector<Key> keys;  // any of them says that its peer has come to it
    std::shared_ptr<const delayed::Mark> end;
  };
  using MarkPointer = std::shared_ptr<delayed::Mark>;

  MarkPointer mark() const;
  MarkPointer awaited(const Key& key);
  void came(EmulatedFrame frame);
  void gone(int peer);
  bool work();
  void tell(EmulatedFrame frame);
  EmulatedFrame taken(const Key& key);
  void add(std::vector<Key> keys, const EmulatedStream& stream);
  void tell_part(const CollectivePart& part, std::uint64_t number);
  bool finish(const CollectivePart& part, std::uint64_t number);
  bool take_messages(const std::vector<AcrossMessage>& messages);

  const int size_, rank_, device_;
  std::atomic<int> error_ = success;
  std::mutex mutex_;
  std::map<Key, EmulatedFrame> came_;
  std::map<Key, MarkPointer> awaited_;
  std::set<int> gone_;
  std::deque<Launch> launches_;  // that are not done
  EmulatedLinks links_;          // its thread ends first
};

}  // namespace d9d::nccl
