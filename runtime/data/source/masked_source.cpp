#include "runtime/data/source/masked_source.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

// Labels of a sample are its tokens, or those after them (TokenLabels); a file or a plugin decides that itself.
bool labels_are_own(const Sample& sample) {
  for (std::size_t i = 0; i < sample.labels.size(); ++i)
    if (sample.labels[i] != ignored_label && sample.labels[i] != sample.input_ids[i]) return false;
  return true;
}

bool begins_document(const Sample& sample, std::size_t place) {
  if (place == 0) return true;
  return !sample.document_starts.empty() && sample.document_starts[place] == static_cast<std::int64_t>(place);
}

bool counts(const Sample& sample, std::size_t place, bool labels_own) {
  if (labels_own) return sample.labels[place] != ignored_label;
  return begins_document(sample, place) || sample.labels[place - 1] != ignored_label;
}

bool may_be_chosen(const Sample& sample, std::size_t place, const MaskingOptions& options) {
  if (!sample.token_mask.empty() && !sample.token_mask[place]) return false;
  return !options.unmasked_ids.contains(sample.input_ids[place]);
}

}  // namespace

void leave_words_out(Sample& sample, std::uint64_t number, const MaskingOptions& options) {
  const RandomStream stream(options.seed, "masked_lm", number);
  const bool labels_own = labels_are_own(sample);
  std::vector<std::int64_t> labels(sample.labels.size(), ignored_label);
  for (std::size_t place = 0; place < labels.size(); ++place) {
    const std::uint64_t first = 3 * std::uint64_t{place};
    if (stream.uniform(first) >= options.mlm_probability || !may_be_chosen(sample, place, options)) continue;
    if (!counts(sample, place, labels_own)) continue;
    std::int64_t& id = sample.input_ids[place];
    labels[place] = id;
    const double becomes = stream.uniform(first + 1);
    if (becomes < options.mask_replace_prob) {
      id = options.mask_token_id;
    } else if (becomes < options.mask_replace_prob + options.random_replace_prob) {
      id = static_cast<std::int64_t>(stream.below(first + 2, static_cast<std::uint64_t>(options.vocab_size)));
    }
  }
  sample.labels = std::move(labels);
}

MaskedSource::MaskedSource(std::shared_ptr<const SampleSource> source, MaskingOptions options)
    : SourceOver(std::move(source)), options_(std::move(options)) {
  D9D_REQUIRE(!source_->is_stream(),
              "task: masked_lm chooses words by the number of their sample, which the samples of a stream do "
              "not have; take another source");
}

Sample MaskedSource::at(std::uint64_t index) const {
  Sample sample = source_->at(index);
  leave_words_out(sample, index, options_);
  return sample;
}

}  // namespace d9d
