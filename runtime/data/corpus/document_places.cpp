#include "runtime/data/corpus/document_places.hpp"

#include <algorithm>

namespace d9d {

std::optional<RowPlace> DocumentPlaces::at(std::uint64_t document) const {
  if (document >= count_) return std::nullopt;
  const Run& run = *std::prev(std::ranges::upper_bound(runs_, document, {}, &Run::first));
  return RowPlace{files_[run.file], run.number + (document - run.first), run.is_line};
}

}  // namespace d9d
