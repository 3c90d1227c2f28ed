#include "runtime/data/source/corpus_source.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t scanned_at_once = 1 << 16;

DocumentPieces told_pieces(const TokenCorpus& corpus, const CorpusSourceOptions& options) {
  const TokenLabels labels = options.form.labels;
  DocumentPieces pieces(corpus, static_cast<std::uint64_t>(options.sequence_length), labels);
  if (pieces.num_left_out() > 0) {
    log::info("{}: left out {} {}", options.what, counted(pieces.num_left_out(), "document"),
              labels == TokenLabels::next
                  ? "shorter than two tokens, because there is nothing to predict in them"
                  : "without a token");
  }
  return pieces;
}

std::optional<DocumentPieces> pieces_of(const TokenCorpus& corpus, const CorpusSourceOptions& options) {
  if (options.samples != SampleUnit::document) return std::nullopt;
  return told_pieces(corpus, options);
}

std::optional<PackedRows> packed_rows_of(const TokenCorpus& corpus, const CorpusSourceOptions& options) {
  if (options.samples != SampleUnit::packed) return std::nullopt;
  const auto length = static_cast<std::uint64_t>(options.sequence_length);
  return PackedRows(told_pieces(corpus, options), length);
}

std::uint64_t samples_of(const TokenCorpus& corpus, const CorpusSourceOptions& options,
                         const std::optional<DocumentPieces>& pieces,
                         const std::optional<PackedRows>& packed) {
  if (pieces || packed) {
    const std::uint64_t count = packed ? packed->count() : pieces->count();
    D9D_REQUIRE(count > 0, "{} has {}, all {}", options.what, counted(corpus.num_documents(), "document"),
                options.form.labels == TokenLabels::next
                    ? "shorter than two tokens, so there is nothing to predict"
                    : "without a token");
    return count;
  }
  const auto length = static_cast<std::uint64_t>(options.sequence_length);
  if (options.form.labels == TokenLabels::own) {
    D9D_REQUIRE(corpus.num_tokens() > 0, "{} has no token", options.what);
    return (corpus.num_tokens() - 1) / length + 1;
  }
  const bool all = options.form.rest == RestOfRows::filled_up;
  D9D_REQUIRE(corpus.num_tokens() > (all ? 1 : length), "{} has {}, expected more than {}", options.what,
              counted(corpus.num_tokens(), "token"),
              all ? "one" : fmt::format("data.sequence_length = {}", length));
  return (corpus.num_tokens() - 1 + (all ? length - 1 : 0)) / length;
}

}  // namespace

CorpusSource::CorpusSource(std::shared_ptr<const TokenCorpus> corpus, const CorpusSourceOptions& options)
    : corpus_(std::move(corpus)),
      options_(options),
      pieces_(pieces_of(*corpus_, options_)),
      packed_(packed_rows_of(*corpus_, options_)),
      num_samples_(samples_of(*corpus_, options_, pieces_, packed_)),
      order_(num_samples_, options_.shuffle, options_.seed) {}

void CorpusSource::add(const DocumentPieces::Piece& piece, Sample& sample) const {
  const std::uint64_t shift = options_.form.labels == TokenLabels::next ? 1 : 0;
  std::vector<std::int64_t> ids(piece.tokens + shift);
  corpus_->read(piece.begin, ids);
  const std::size_t start = sample.input_ids.size();
  const auto tokens = static_cast<std::ptrdiff_t>(piece.tokens);
  sample.input_ids.insert(sample.input_ids.end(), ids.begin(), ids.begin() + tokens);
  sample.labels.insert(sample.labels.end(), ids.end() - tokens, ids.end());
  for (std::uint64_t i = 0; i < piece.tokens; ++i) {
    if (!corpus_->counts(piece.begin + i + shift)) sample.labels[start + i] = ignored_label;
  }
  if (packed_) sample.document_starts.resize(sample.labels.size(), static_cast<std::int64_t>(start));
}

DocumentPieces::Piece CorpusSource::row(std::uint64_t item) const {
  const auto length = static_cast<std::uint64_t>(options_.sequence_length);
  const std::uint64_t begin = item * length;
  const std::uint64_t inputs = corpus_->num_tokens() - (options_.form.labels == TokenLabels::next ? 1 : 0);
  return {begin, std::min(length, inputs - begin)};
}

std::vector<DocumentPieces::Piece> CorpusSource::pieces_at(std::uint64_t index) const {
  const std::uint64_t item = order_.item_at(index);
  if (packed_) return packed_->at(item);
  return {pieces_ ? pieces_->at(item) : row(item)};
}

Sample CorpusSource::at(std::uint64_t index) const {
  const auto length = static_cast<std::uint64_t>(options_.sequence_length);
  Sample sample;
  for (const DocumentPieces::Piece& piece : pieces_at(index)) add(piece, sample);
  if (packed_) sample.document_starts.resize(length, static_cast<std::int64_t>(sample.labels.size()));
  if (sample.input_ids.size() < length) {
    sample.token_mask.assign(sample.input_ids.size(), true);
    sample.token_mask.resize(length, false);
  }
  sample.input_ids.resize(length, options_.pad_id);
  sample.labels.resize(length, ignored_label);
  return sample;
}

std::vector<RowPlace> CorpusSource::places_of(std::uint64_t index) const {
  std::vector<RowPlace> places;
  for (const DocumentPieces::Piece& piece : pieces_at(index)) {
    // The document of its first token, and those that begin among its tokens.
    std::uint64_t low = 0, high = corpus_->num_documents();
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (corpus_->begin_of(middle) <= piece.begin ? low : high) = middle;
    }
    for (; low < corpus_->num_documents() && corpus_->begin_of(low) < piece.begin + piece.tokens; ++low) {
      const auto place = corpus_->place_of(low);
      if (!place) return {};
      if (corpus_->begin_of(low + 1) > corpus_->begin_of(low)) places.push_back(*place);
    }
  }
  return places;
}

std::optional<std::int64_t> CorpusSource::sort_key(std::uint64_t index) const {
  if (!pieces_) return std::nullopt;
  return static_cast<std::int64_t>(pieces_->at(order_.item_at(index)).tokens);
}

std::optional<Scanned> CorpusSource::scan_ids(const ScanLimits& limits) const {
  if (!corpus_->has_unchecked_ids()) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limits.time_max;
  std::vector<std::int64_t> ids;
  Scanned scanned{.samples = 0, .all = corpus_->num_tokens(), .unit = "token"};
  while (scanned.samples < scanned.all) {
    ids.resize(std::min(scanned_at_once, scanned.all - scanned.samples));
    corpus_->read(scanned.samples, ids);
    scanned.samples += ids.size();
    if (scanned.samples * sizeof ids[0] >= limits.bytes_max || Clock::now() >= end) break;
  }
  return scanned;
}

}  // namespace d9d
