#pragma once
// An own reader of TensorBoard's event files, for tests: frames, checksums and the fields that are written.

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/metric/sink/event_file.hpp"

namespace d9d {

// Fields of a protobuf message by number: fixed numbers as their bits, varints, or the bytes.
struct WireField {
  std::uint64_t number = 0;
  std::string bytes;
  double as_double() const { return std::bit_cast<double>(number); }
  float as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number)); }
};
using WireMessage = std::multimap<int, WireField>;

inline std::uint64_t take_fixed(std::string_view& data, std::size_t num_bytes) {
  if (data.size() < num_bytes) throw std::runtime_error("cut short");
  std::uint64_t value = 0;
  std::memcpy(&value, data.data(), num_bytes);
  data.remove_prefix(num_bytes);
  return value;
}

inline std::uint64_t take_varint(std::string_view& data) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint64_t byte = take_fixed(data, 1);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

inline WireMessage parse_message(std::string_view data) {
  WireMessage message;
  while (!data.empty()) {
    const std::uint64_t tag = take_varint(data);
    WireField field;
    if (tag % 8 == 0) field.number = take_varint(data);
    if (tag % 8 == 1) field.number = take_fixed(data, 8);
    if (tag % 8 == 5) field.number = take_fixed(data, 4);
    if (tag % 8 == 2) {
      const std::uint64_t size = take_varint(data);
      field.bytes = data.substr(0, size);
      data.remove_prefix(size);
    }
    message.emplace(static_cast<int>(tag / 8), field);
  }
  return message;
}

inline std::vector<double> parse_packed(std::string_view data) {
  std::vector<double> values;
  while (!data.empty()) values.push_back(std::bit_cast<double>(take_fixed(data, 8)));
  return values;
}

inline std::vector<WireMessage> parse_events(std::string_view file) {
  std::vector<WireMessage> events;
  while (!file.empty()) {
    const std::string_view length_bytes = file.substr(0, 8);
    const std::uint64_t length = take_fixed(file, 8);
    if (take_fixed(file, 4) != event_file::masked_crc32c(length_bytes))
      throw std::runtime_error("length damaged");
    const std::string_view data = file.substr(0, length);
    file.remove_prefix(length);
    if (take_fixed(file, 4) != event_file::masked_crc32c(data)) throw std::runtime_error("data damaged");
    events.push_back(parse_message(data));
  }
  return events;
}

inline const WireField& field(const WireMessage& message, int number) {
  const auto found = message.find(number);
  if (found == message.end()) throw std::runtime_error("no field " + std::to_string(number));
  return found->second;
}

// The Summary.Value of an event.
inline WireMessage summary_value(const WireMessage& event) {
  return parse_message(field(parse_message(field(event, 5).bytes), 1).bytes);
}

}  // namespace d9d
