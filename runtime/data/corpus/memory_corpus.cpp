#include "runtime/data/corpus/memory_corpus.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void TokenRow::append(std::span<const std::int32_t> ids) {
  if (narrow_) {
    ids16_.insert(ids16_.end(), ids.begin(), ids.end());
  } else {
    ids32_.insert(ids32_.end(), ids.begin(), ids.end());
  }
}

void TokenRow::read(std::size_t first, std::span<std::int64_t> out) const {
  D9D_CHECK(first + out.size() <= size(), "tokens {} to {} of {}", first, first + out.size(), size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow_ ? ids16_[first + i] : ids32_[first + i];
}

void MemoryCorpus::add_document(std::span<const std::int32_t> ids) {
  begins_.push_back(row_.size());
  row_.append(ids);
}

std::uint64_t MemoryCorpus::begin_of(std::uint64_t document) const {
  D9D_CHECK(document <= begins_.size(), "document {} of {}", document, begins_.size());
  return document == begins_.size() ? num_tokens() : begins_[document];
}

}  // namespace d9d
