#include "runtime/task/sample_length.hpp"

#include "runtime/data/npy.hpp"

namespace d9d {

std::optional<std::int64_t> given_length(const DataConfig& data) {
  if (const auto* synthetic = std::get_if<SyntheticDataConfig>(&data)) return synthetic->sequence_length;
  if (const auto* text = std::get_if<TextDataConfig>(&data)) return text->sequence_length;
  return std::nullopt;
}

std::optional<std::int64_t> sample_length(const DataConfig& data) {
  if (const auto given = given_length(data)) return given;
  const auto* tokens = std::get_if<TokensDataConfig>(&data);
  if (!tokens) return std::nullopt;
  const NpyArray array(tokens->tokens);
  return array.shape().size() == 2 ? std::optional(array.shape()[1]) : std::nullopt;
}

}  // namespace d9d
