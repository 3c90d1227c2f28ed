#pragma once
// Every message of the schemas as data, so that one test speaks about all of them; a test compares the list
// with the schema files. Not for the fuzzer alone: no GoogleTest here.

#include <capnp/schema.h>

#include <string>
#include <vector>

#include "messages/decode.hpp"
#include "messages/encode.hpp"

namespace d9d::test {

struct MessageKind {
  std::string name;  // as in its schema
  std::uint64_t type = 0;
  capnp::StructSchema schema;
  Frame (*encode)(const Header&);  // with a value that is no default in every field
};

const std::vector<MessageKind>& every_message();
// Null when no message has this type id.
const MessageKind* kind_of(std::uint64_t type);

// What a sample's header says.
Header sample_header();

// "@0=7 @2="text" @3=[{@0=1} {@0=2}]": fields by ordinal, so that a renamed field reads the same; fields that
// have their default value are left out, so that a field added later does, too.
std::string dump(const Decoded& decoded, const MessageKind& kind);

}  // namespace d9d::test
