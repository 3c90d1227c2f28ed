#include "runtime/metric/sink/event_file.hpp"

#include <array>
#include <bit>
#include <span>

#include "runtime/metric/sink/picture_file.hpp"

namespace d9d::event_file {
namespace {

// The few parts of the Protocol Buffers wire format that event files need. Source: "Encoding", protobuf.dev (varints,
// length-delimited fields, packed repeated fields).
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

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = remainder;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> crc_table = make_crc_table();

std::string little_endian(std::uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

ProtobufWriter event_at(double time, std::int64_t step) {
  ProtobufWriter event;
  event.number(1, time);
  event.varint(2, static_cast<std::uint64_t>(step));
  return event;
}

std::string summary_event(double time, std::int64_t step, const ProtobufWriter& value) {
  ProtobufWriter summary;
  summary.message(1, value);
  ProtobufWriter event = event_at(time, step);
  event.message(5, summary);
  return event.text();
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t crc = ~0U;
  for (const char c : data) crc = crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::string record(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  std::string framed = length + little_endian(masked_crc32c(length), 4);
  framed += data;
  framed += little_endian(masked_crc32c(data), 4);
  return framed;
}

std::string file_version(double time) {
  ProtobufWriter event = event_at(time, 0);
  event.bytes(3, "brain.Event:2");
  return event.text();
}

std::string session_start(double time, std::int64_t step) {
  ProtobufWriter session;
  session.varint(1, 1);  // status: START
  ProtobufWriter event = event_at(time, step);
  event.message(7, session);
  return event.text();
}

std::string scalar(double time, std::int64_t step, std::string_view tag, double value) {
  ProtobufWriter summary_value;
  summary_value.bytes(1, tag);
  summary_value.number(2, static_cast<float>(value));
  return summary_event(time, step, summary_value);
}

std::string histogram(double time, std::int64_t step, std::string_view tag, const Histogram& histogram) {
  double count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double middle = (histogram.edge(i) + histogram.edge(i + 1)) / 2;
    count += histogram.counts[i];
    sum += histogram.counts[i] * middle;
    sum_of_squares += histogram.counts[i] * middle * middle;
    limits.push_back(histogram.edge(i + 1));
  }
  ProtobufWriter bins;
  bins.number(1, histogram.edge(0));                        // min
  bins.number(2, histogram.edge(histogram.counts.size()));  // max
  bins.number(3, count);
  bins.number(4, sum);
  bins.number(5, sum_of_squares);
  bins.packed(6, limits);
  bins.packed(7, histogram.counts);
  ProtobufWriter value;
  value.bytes(1, tag);
  value.message(5, bins);
  return summary_event(time, step, value);
}

std::string picture(double time, std::int64_t step, std::string_view tag, const Picture& picture) {
  const PictureSize size = size_of_png(picture.png).value_or(PictureSize());
  ProtobufWriter image, value;
  image.varint(1, size.height);
  image.varint(2, size.width);
  image.varint(3, 4);  // colours: RGBA
  image.bytes(4, picture.png);
  value.bytes(1, tag);
  value.message(4, image);
  return summary_event(time, step, value);
}

std::string hparams_session(double time, const std::vector<std::pair<std::string, nlohmann::json>>& hparams) {
  ProtobufWriter session;
  for (const auto& [name, leaf] : hparams) {
    ProtobufWriter setting, entry;
    if (leaf.is_boolean()) {
      setting.varint(4, leaf.get<bool>() ? 1 : 0);
    } else if (leaf.is_number()) {
      setting.number(2, leaf.get<double>());
    } else {
      setting.bytes(3, text_of(leaf));
    }
    entry.bytes(1, name);
    entry.message(2, setting);
    session.message(1, entry);
  }
  session.number(5, time);
  ProtobufWriter data, plugin, metadata, value;
  data.message(3, session);
  plugin.bytes(1, "hparams");
  plugin.message(2, data);
  metadata.message(1, plugin);
  value.bytes(1, "_hparams_/session_start_info");
  value.message(9, metadata);
  return summary_event(time, 0, value);
}

std::string text(double time, std::int64_t step, std::string_view tag, std::string_view markdown) {
  ProtobufWriter plugin, metadata, tensor, value;
  plugin.bytes(1, "text");
  metadata.message(1, plugin);
  metadata.varint(4, 2);                // data class: tensor
  tensor.varint(1, 7);                  // dtype: string
  tensor.message(2, ProtobufWriter());  // shape: scalar
  tensor.bytes(8, markdown);
  value.bytes(1, tag);
  value.message(8, tensor);
  value.message(9, metadata);
  return summary_event(time, step, value);
}

}  // namespace d9d::event_file
