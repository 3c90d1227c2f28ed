#include "messages/encode.hpp"

namespace d9d {

wire::Envelope::Builder start_envelope(capnp::MessageBuilder& message, const Header& header,
                                       std::uint64_t type) {
  auto envelope = message.initRoot<wire::Envelope>();
  envelope.setEpoch(header.epoch);
  envelope.setSender(header.sender.packed());
  envelope.setReceiver(header.receiver.packed());
  envelope.setSequence(header.sequence);
  envelope.setSendTime(header.send_time_ns);
  envelope.setFlow(header.flow);
  envelope.setType(type);
  return envelope;
}

Frame finish(capnp::MessageBuilder& message) {
  const auto segments = message.getSegmentsForOutput();
  std::vector<capnp::word> words(capnp::computeSerializedSizeInWords(segments));
  kj::ArrayOutputStream out(
      kj::arrayPtr(reinterpret_cast<kj::byte*>(words.data()), words.size() * sizeof(capnp::word)));
  capnp::writeMessage(out, segments);
  return Frame(std::move(words));
}

}  // namespace d9d
