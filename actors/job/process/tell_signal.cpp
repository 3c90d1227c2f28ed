#include "actors/job/process/tell_signal.hpp"

#include "actors/core/mailbox.hpp"
#include "messages/cluster.capnp.h"
#include "messages/encode.hpp"

namespace d9d {

void tell_signal(World& world, ActorId root, int signal, bool now) {
  const MailboxPtr mailbox = world.book.find_local(root);
  if (!mailbox) return;
  const Header header{.epoch = world.epoch.load(), .sender = root, .receiver = root, .sequence = 1};
  mailbox->deliver(encode<wire::Signalled>(header,
                                           [&](wire::Signalled::Builder signalled) {
                                             signalled.setSignal(static_cast<std::uint32_t>(signal));
                                             signalled.setNow(now);
                                           }),
                   nullptr);
}

}  // namespace d9d
