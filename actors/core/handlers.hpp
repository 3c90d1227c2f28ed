#pragma once
// The list of the messages that an actor hears. `on(this, &RankExecutor::begin_step)` reads the message
// type off the handler's signature: void begin_step(wire::BeginStep::Reader).

#include <capnp/schema.h>

#include <functional>
#include <string>
#include <unordered_map>

#include "messages/decode.hpp"

namespace d9d {

class Handlers {
 public:
  struct Entry {
    std::string name;  // of the message, as in its schema
    std::function<void(const Decoded&)> call;
    bool any_epoch = false;
    // The training step that a message of this type belongs to, for traces; null: it names none.
    std::uint64_t (*step)(const Decoded&) = nullptr;
    const char* lasting_name = nullptr;  // the same in the schema's memory, which outlives all actors
  };

  template <class Self, class Base, class Reader>
  void on(Self* self, void (Base::*handler)(Reader)) {
    add<Reader>(self, handler, false);
  }
  // For messages that form or end an epoch: accepted with any epoch number.
  template <class Self, class Base, class Reader>
  void on_any_epoch(Self* self, void (Base::*handler)(Reader)) {
    add<Reader>(self, handler, true);
  }

  const Entry* find(std::uint64_t type) const {
    const auto found = entries_.find(type);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // Names of all messages heard, for the table in actors/README.md.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [type, entry] : entries_) all.push_back(entry.name);
    return all;
  }

 private:
  template <class Reader, class Self, class Handler>
  void add(Self* self, Handler handler, bool any_epoch) {
    using Message = typename Reader::Reads;
    const char* const name = capnp::Schema::from<Message>().getShortDisplayName().cStr();
    entries_[capnp::typeId<Message>()] = {
        name, [self, handler](const Decoded& decoded) { (self->*handler)(decoded.body<Message>()); },
        any_epoch, nullptr, name};
    if constexpr (requires(typename Message::Reader message) { message.getStep(); }) {
      entries_[capnp::typeId<Message>()].step = [](const Decoded& decoded) -> std::uint64_t {
        return decoded.body<Message>().getStep();
      };
    }
  }

  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace d9d
