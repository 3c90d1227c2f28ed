#pragma once
// Named parts of a vocabulary. No torch.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

// Consecutive words with a name, and with tables of their own.
struct VocabularyPart {
  std::string name;  // of the modules that hold its rows
  std::int64_t size = 0;

  bool operator==(const VocabularyPart&) const = default;
};
// The number of words in all parts.
std::int64_t rows_of(const std::vector<VocabularyPart>& parts);
// Input error when a part has fewer words than there are ranks.
void require_divisible_parts(const std::vector<VocabularyPart>& parts, int ranks);

}  // namespace d9d
