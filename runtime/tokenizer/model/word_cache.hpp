#pragma once
// Remembers the ids of words seen before. Bounded: when it is full, it
// forgets everything. One thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

class WordCache {
 public:
  static constexpr std::size_t word_bytes_max = 64;  // longer words are rare and are not kept

  explicit WordCache(std::size_t words_max = 1 << 15);

  // Returns the ids of a word; they stay valid until the next put().
  std::optional<std::span<const std::int32_t>> find(std::string_view word) const;
  // Stores a word, which must not be stored yet. Ignores words above word_bytes_max.
  void put(std::string_view word, std::span<const std::int32_t> ids);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t word_begin = 0;
    std::uint32_t word_bytes = 0;  // 0: empty; words never are
    std::uint32_t ids_begin = 0;
    std::uint32_t num_ids = 0;
  };
  std::size_t slot_of(std::string_view word, std::uint64_t hash) const;

  const std::size_t words_max_;
  std::size_t num_words_ = 0;
  std::vector<Slot> slots_;
  std::string words_;
  std::vector<std::int32_t> ids_;
};

}  // namespace d9d
