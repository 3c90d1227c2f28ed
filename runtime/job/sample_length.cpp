#include "runtime/job/sample_length.hpp"

#include "runtime/data/config/data_parts.hpp"
#include "runtime/data/file/npy.hpp"

namespace d9d {

namespace {

std::optional<std::int64_t> length_given_in(const PartConfig& source) {
  return std::visit(
      [](const auto& which) -> std::optional<std::int64_t> {
        if constexpr (requires { which.sequence_length; }) return which.sequence_length;
        return std::nullopt;
      },
      source);
}

}  // namespace

std::optional<std::int64_t> given_length(const DataConfig& data) {
  for (const DataPart& part : parts_of(data)) {
    if (const auto given = length_given_in(part.source)) return given;
  }
  return std::nullopt;
}

std::string length_key(const DataConfig& data) {
  for (const DataPart& part : parts_of(data)) {
    if (length_given_in(part.source)) return part.path + ".sequence_length";
    if (std::holds_alternative<TokensDataConfig>(part.source)) return part.path + ".tokens";
  }
  return "data";
}

std::optional<std::int64_t> sample_length(const DataConfig& data) {
  if (const auto given = given_length(data)) return given;
  for (const DataPart& part : parts_of(data)) {
    const auto* tokens = std::get_if<TokensDataConfig>(&part.source);
    if (!tokens) continue;
    const NpyArray array(tokens->tokens);
    return array.shape().size() == 2 ? std::optional(array.shape()[1]) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace d9d
