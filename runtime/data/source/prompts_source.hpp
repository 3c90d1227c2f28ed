#pragma once
// Prompts for the task `generation`, tokenised by this process and kept in memory. Each sample has
// one, padded at the end. document_starts is 0 for the prompt's own tokens and not 0 for padding. Labels are as
// TokenLabels says.

#include <vector>

#include "runtime/data/config/prompts_data_config.hpp"
#include "runtime/data/corpus/document_places.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/token_labels.hpp"

namespace d9d {

class PromptsSource final : public SampleSource {
 public:
  // Reads and tokenises everything with Tokenizer::encode_prompt(). Input errors: those of
  // for_each_prompt(); no prompt at all; a prompt without tokens or with more than
  // config.sequence_length; ids that the model does not have.
  explicit PromptsSource(const PromptsDataConfig& config, std::optional<std::int64_t> ids_below = {},
                         TokenLabels labels = TokenLabels::next);
  std::optional<std::uint64_t> num_samples() const override { return prompts_.size(); }
  std::int64_t sequence_length() const override { return length_; }
  std::optional<std::int64_t> vocab_size() const override { return vocab_size_; }
  Sample at(std::uint64_t index) const override;
  std::vector<RowPlace> places_of(std::uint64_t index) const override;
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return std::ssize(prompts_[index % prompts_.size()]);
  }

 private:
  const std::int64_t length_;
  const TokenLabels labels_;
  std::int64_t vocab_size_ = 0;
  std::vector<std::vector<std::int32_t>> prompts_;
  DocumentPlaces places_;
};

}  // namespace d9d
