#pragma once
// Messages between ranks of one process: a queue of tensors per (sender, receiver, tag). put() does not copy
// the tensor; the receiver copies it into its buffer.

#include <ATen/core/Tensor.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "runtime/device/event.hpp"

namespace d9d::comm {

struct Mail {
  at::Tensor tensor;
  Event ready = {};  // reached when the tensor has its values
};

class Mailboxes {
 public:
  void put(int sender, int receiver, int tag, Mail mail);
  // Waits for a tensor. Returns an undefined one after the timeout, or if none can come any more. A tensor
  // that was put before its sender left, or before close(), can still be taken.
  Mail take(int sender, int receiver, int tag, std::chrono::milliseconds timeout);
  // Ends the waits for messages of `rank`.
  void leave(int rank) noexcept;
  void close() noexcept;
  bool closed();

 private:
  using Key = std::tuple<int, int, int>;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Key, std::deque<Mail>> queues_;
  std::set<int> left_;
  bool closed_ = false;
};

}  // namespace d9d::comm
