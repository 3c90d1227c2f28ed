#include "runtime/data/source/document_pieces.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t stride = 64;

}  // namespace

DocumentPieces::DocumentPieces(const TokenCorpus& corpus, std::uint64_t length, TokenLabels labels)
    : corpus_(corpus), length_(length), labels_alone_(labels == TokenLabels::next ? 1 : 0) {
  const std::uint64_t documents = corpus.num_documents();
  before_.reserve(documents / stride + 1);
  for (std::uint64_t document = 0; document < documents; ++document) {
    if (document % stride == 0) before_.push_back(count_);
    const std::uint64_t pieces = of_document(document);
    count_ += pieces;
    left_out_ += pieces == 0 ? 1 : 0;
  }
}

std::uint64_t DocumentPieces::of_document(std::uint64_t document) const {
  const std::uint64_t tokens = corpus_.begin_of(document + 1) - corpus_.begin_of(document);
  return tokens <= labels_alone_ ? 0 : (tokens - labels_alone_ - 1) / length_ + 1;
}

void DocumentPieces::from(std::uint64_t first, const std::function<bool(const Piece&)>& use) const {
  if (first >= count_) return;
  const auto block = std::ranges::upper_bound(before_, first) - before_.begin() - 1;
  std::uint64_t document = static_cast<std::uint64_t>(block) * stride;
  std::uint64_t within = first - before_[static_cast<std::size_t>(block)];
  for (; within >= of_document(document); ++document) within -= of_document(document);
  for (; document < corpus_.num_documents(); ++document, within = 0) {
    const std::uint64_t pieces = of_document(document);
    const std::uint64_t end = corpus_.begin_of(document + 1) - (pieces > 0 ? labels_alone_ : 0);
    for (; within < pieces; ++within) {
      const std::uint64_t begin = corpus_.begin_of(document) + within * length_;
      if (!use({begin, std::min(length_, end - begin)})) return;
    }
  }
}

DocumentPieces::Piece DocumentPieces::at(std::uint64_t index) const {
  D9D_CHECK(index < count_, "piece {} of {}", index, count_);
  Piece found;
  from(index, [&found](const Piece& piece) {
    found = piece;
    return false;
  });
  return found;
}

}  // namespace d9d
