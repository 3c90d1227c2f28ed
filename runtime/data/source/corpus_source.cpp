#include "runtime/data/source/corpus_source.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t stride = 64;
constexpr std::uint64_t scanned_at_once = 1 << 16;

std::optional<DocumentPieces> pieces_of(const TokenCorpus& corpus, const CorpusSourceOptions& options) {
  if (options.samples == SampleUnit::row) return std::nullopt;
  return DocumentPieces(corpus, static_cast<std::uint64_t>(options.sequence_length));
}

std::uint64_t samples_of(const TokenCorpus& corpus, const CorpusSourceOptions& options,
                         const std::optional<DocumentPieces>& pieces) {
  if (pieces) {
    D9D_REQUIRE(pieces->count() > 0, "{} has {} and none of two tokens", options.what,
                counted(corpus.num_documents(), "document"));
    return pieces->count();
  }
  const auto length = static_cast<std::uint64_t>(options.sequence_length);
  D9D_REQUIRE(corpus.num_tokens() > length, "{} has {}, expected more than data.sequence_length = {}",
              options.what, counted(corpus.num_tokens(), "token"), length);
  return (corpus.num_tokens() - 1) / length;
}

}  // namespace

DocumentPieces::DocumentPieces(const TokenCorpus& corpus, std::uint64_t length)
    : corpus_(corpus), length_(length) {
  const std::uint64_t documents = corpus.num_documents();
  before_.reserve(documents / stride + 1);
  for (std::uint64_t document = 0; document < documents; ++document) {
    if (document % stride == 0) before_.push_back(count_);
    count_ += of_document(document);
  }
}

std::uint64_t DocumentPieces::of_document(std::uint64_t document) const {
  const std::uint64_t tokens = corpus_.begin_of(document + 1) - corpus_.begin_of(document);
  return tokens < 2 ? 0 : (tokens - 2) / length_ + 1;
}

DocumentPieces::Piece DocumentPieces::at(std::uint64_t index) const {
  D9D_CHECK(index < count_, "piece {} of {}", index, count_);
  const auto block = std::ranges::upper_bound(before_, index) - before_.begin() - 1;
  std::uint64_t document = static_cast<std::uint64_t>(block) * stride;
  std::uint64_t within = index - before_[static_cast<std::size_t>(block)];
  for (; within >= of_document(document); ++document) within -= of_document(document);
  const std::uint64_t begin = corpus_.begin_of(document) + within * length_;
  return {begin, std::min(length_, corpus_.begin_of(document + 1) - 1 - begin)};
}

CorpusSource::CorpusSource(std::shared_ptr<const TokenCorpus> corpus, const CorpusSourceOptions& options)
    : corpus_(std::move(corpus)),
      options_(options),
      pieces_(pieces_of(*corpus_, options_)),
      num_samples_(samples_of(*corpus_, options_, pieces_)),
      order_(num_samples_, options_.shuffle, options_.seed) {}

Sample CorpusSource::at(std::uint64_t index) const {
  const auto length = static_cast<std::uint64_t>(options_.sequence_length);
  const std::uint64_t item = order_.item_at(index);
  const DocumentPieces::Piece piece =
      pieces_ ? pieces_->at(item) : DocumentPieces::Piece{item * length, length};
  std::vector<std::int64_t> ids(piece.tokens + 1);
  corpus_->read(piece.begin, ids);
  Sample sample{{ids.begin(), ids.end() - 1}, {ids.begin() + 1, ids.end()}};
  sample.input_ids.resize(length, options_.pad_id);
  sample.labels.resize(length, ignored_label);
  return sample;
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
