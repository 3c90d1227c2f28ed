#include "runtime/nn/block/vocabulary_part.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

std::int64_t rows_of(const std::vector<VocabularyPart>& parts) {
  std::int64_t rows = 0;
  for (const VocabularyPart& part : parts) rows += part.size;
  return rows;
}

void require_divisible_parts(const std::vector<VocabularyPart>& parts, int ranks) {
  for (const VocabularyPart& part : parts) {
    D9D_REQUIRE(
        part.size >= ranks,
        "tensor_parallel is {}, but part \"{}\" of the vocabulary has {} words; choose fewer ranks, or "
        "join it with another part",
        ranks, part.name, part.size);
  }
}

}  // namespace d9d
