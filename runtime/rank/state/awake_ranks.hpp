#pragma once
// Knows which ranks of a process sleep. Returns memory that the allocators of devices have cached only when
// all ranks sleep: a trim on CUDA waits for all GPUs of the process, and a collective that an awake rank has
// not queued yet would never end. Any thread.

#include <mutex>
#include <set>

namespace d9d {

class Device;

class AwakeRanks {
 public:
  // Call add() when a rank of the process begins, and remove() when it ends. A rank
  // begins awake and may end asleep.
  void add();
  void remove();
  // Call it after a rank has freed its tensors on `devices`. The last rank to fall asleep trims all devices.
  void fall_asleep(const std::set<Device*>& devices);
  // Call it before the rank allocates again. Waits for a rank that trims.
  void wake();
  // False in a process without ranks.
  bool all_sleep();

 private:
  std::mutex mutex_;
  int ranks_ = 0, asleep_ = 0;
  std::set<Device*> devices_;  // of the ranks that sleep; not trimmed yet
};

}  // namespace d9d
