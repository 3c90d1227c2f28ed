#pragma once
// A source whose samples leave words out, for the task masked_lm (Devlin et al. 2019, arXiv 1810.04805, section 3.1).
// Chosen tokens become the mask's, or others, or stay as they are; their labels are what they were, at their own
// place. All other labels are ignored_label. What is chosen is a function of the seed and the sample's number, which
// counts on over epochs: the same on every mesh and after every resume, and another in each epoch.

#include <cstdint>
#include <memory>
#include <set>

#include "runtime/data/source/source_over.hpp"

namespace d9d {

// Shares as in transformers' DataCollatorForLanguageModeling.
struct MaskingOptions {
  std::uint64_t seed = 0;
  std::int64_t mask_token_id = 0;
  std::int64_t vocab_size = 0;
  double mlm_probability = 0.3;              // that a token is chosen
  double mask_replace_prob = 0.8;            // of the chosen ones: mask_token_id
  double random_replace_prob = 0.1;          // of the chosen ones: any word; the rest stays
  std::set<std::int64_t> unmasked_ids = {};  // never chosen
};

// Leaves words of the sample with this number out. Never chosen are positions without a token (token_mask) and tokens
// that do not count: their label is ignored_label. Where all labels that count are the tokens in the same places, the
// label of token i is labels[i], else labels[i - 1], and a document's first token counts.
void leave_words_out(Sample& sample, std::uint64_t number, const MaskingOptions& options);

class MaskedSource final : public SourceOver {
 public:
  // Input error for a source that is a stream: its samples have no numbers.
  MaskedSource(std::shared_ptr<const SampleSource> source, MaskingOptions options);
  Sample at(std::uint64_t index) const override;

 private:
  const MaskingOptions options_;
};

}  // namespace d9d
