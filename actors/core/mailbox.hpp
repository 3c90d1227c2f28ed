#pragma once
// Where frames go: the sending end of an actor's mailbox, in this process or another. Thread-safe.

#include <memory>

#include "messages/frame.hpp"

namespace d9d {

class Mailbox;
using MailboxPtr = std::shared_ptr<Mailbox>;

class Mailbox {
 public:
  virtual ~Mailbox() = default;
  // Frames from one thread arrive in order. The handle `attached` travels beside the frame; it is how
  // processes learn of each other.
  virtual void deliver(Frame frame, const MailboxPtr& attached) = 0;
};

}  // namespace d9d
