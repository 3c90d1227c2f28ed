#pragma once
// Which ranks of a process sleep. What the allocators of their devices keep of freed memory goes back when all of them
// do: on CUDA that waits for all GPUs of the process, and a collective that another rank has yet to give to its GPU would
// then never begin on it. Any thread.

#include <mutex>
#include <set>

namespace d9d {

class Device;

class AwakeRanks {
 public:
  // A rank of the process begins, awake; it ends, awake or asleep.
  void add();
  void remove();
  // It has given the memory of its tensors back to these devices. The last one to do so trims all of them.
  void fall_asleep(const std::set<Device*>& devices);
  // Before it takes memory again; waits for one that trims.
  void wake();
  // Of a process that has ranks.
  bool all_sleep();

 private:
  std::mutex mutex_;
  int ranks_ = 0, asleep_ = 0;
  std::set<Device*> devices_;  // of those that sleep
};

}  // namespace d9d
