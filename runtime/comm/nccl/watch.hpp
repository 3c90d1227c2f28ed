#pragma once
// The thread that looks at the NCCL communicators of a rank while the rank computes. It is needed
// because NCCL reports an error only when asked, and because ending a communicator may block.

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace d9d::nccl {

class Channel;

class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void add(Channel& channel);
  // Waits until the thread is done with the channel. It does not look at it afterwards.
  void remove(Channel& channel);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Channel*> channels_;
  Channel* looked_at_ = nullptr;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace d9d::nccl
