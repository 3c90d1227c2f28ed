#pragma once
// TensorBoard's event files: TFRecord frames (length, masked CRC-32C of it, data, masked CRC-32C of that)
// around protobuf `Event` messages. Source: tensorflow/core/lib/io/record_writer.h, tsl/lib/hash/crc32c.h
// (mask) and tensorboard/compat/proto/{event,summary,tensor}.proto (field numbers).

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/metric/sink/tracker.hpp"

namespace d9d::event_file {

std::uint32_t crc32c(std::string_view data);
std::uint32_t masked_crc32c(std::string_view data);
std::string record(std::string_view data);

// Serialized `Event`s; times are seconds since 1970.
std::string file_version(double time);
// Makes readers drop the values of steps >= `step` that they have seen, except at the first
// start of a run.
std::string session_start(double time, std::int64_t step);
// fp32, as the format has it.
std::string scalar(double time, std::int64_t step, std::string_view tag, double value);
std::string picture(double time, std::int64_t step, std::string_view tag, const Picture& picture);
std::string histogram(double time, std::int64_t step, std::string_view tag, const Histogram& histogram);
// Settings for the dashboard of hyperparameters, which compares runs by them. Numbers and booleans
// keep their type. Source: tensorboard/plugins/hparams/plugin_data.proto,
// google/protobuf/struct.proto (Value).
std::string hparams_session(double time, const std::vector<std::pair<std::string, nlohmann::json>>& hparams);
// Markdown for the text dashboard.
std::string text(double time, std::int64_t step, std::string_view tag, std::string_view markdown);

}  // namespace d9d::event_file
