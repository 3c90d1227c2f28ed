#pragma once
// The few parts of the Protocol Buffers wire format that event files need.
// Source: "Encoding", protobuf.dev (varints, length-delimited fields, packed repeated fields).

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace d9d {

class ProtobufWriter {
 public:
  void varint(int field, std::uint64_t value) {
    raw_varint(tag(field, 0));
    raw_varint(value);
  }
  void number(int field, double value) {
    raw_varint(tag(field, 1));
    little_endian(std::bit_cast<std::uint64_t>(value), 8);
  }
  void number(int field, float value) {
    raw_varint(tag(field, 5));
    little_endian(std::bit_cast<std::uint32_t>(value), 4);
  }
  // A string, bytes or an embedded message.
  void bytes(int field, std::string_view value) {
    raw_varint(tag(field, 2));
    raw_varint(value.size());
    out_.append(value);
  }
  void message(int field, const ProtobufWriter& inner) { bytes(field, inner.out_); }
  void packed(int field, std::span<const double> values) {
    raw_varint(tag(field, 2));
    raw_varint(values.size() * 8);
    for (const double value : values) little_endian(std::bit_cast<std::uint64_t>(value), 8);
  }

  const std::string& text() const { return out_; }

 private:
  static std::uint64_t tag(int field, int wire_type) {
    return static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type);
  }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void little_endian(std::uint64_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i)));
  }

  std::string out_;
};

}  // namespace d9d
