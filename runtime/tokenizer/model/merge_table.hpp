#pragma once
// (left id, right id) -> (rank, merged id): open addressing with linear probing, at most half full.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace d9d {

struct Merge {
  static constexpr std::uint32_t unknown_rank = 0xFFFFFFFF;
  std::uint32_t rank = unknown_rank;  // unknown_rank: the pair is not known
  std::int32_t merged = -1;
};

class MergeTable {
 public:
  explicit MergeTable(std::size_t pairs = 0)
      : shift_(64 - std::bit_width(2 * pairs | 7)), slots_(std::size_t{1} << (64 - shift_)) {}

  // Sets the merge of a pair; replaces an earlier one.
  void put(std::int32_t left, std::int32_t right, Merge merge) {
    slot(key_of(left, right)) = {key_of(left, right), merge};
  }

  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = key * hash_multiplier >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].merge;
      if (slots_[i].key == empty_slot) return {};
    }
  }

 private:
  static constexpr std::uint64_t empty_slot = ~std::uint64_t{0};  // ids are not negative
  static constexpr std::uint64_t hash_multiplier =
      0x9E3779B97F4A7C15ULL;  // Knuth, vol. 3, 6.4: multiplicative hashing
  struct Slot {
    std::uint64_t key = empty_slot;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  Slot& slot(std::uint64_t key) {
    std::size_t i = key * hash_multiplier >> shift_;
    while (slots_[i].key != key && slots_[i].key != empty_slot) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }

  int shift_;
  std::vector<Slot> slots_;
};

}  // namespace d9d
