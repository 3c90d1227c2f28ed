#include "runtime/tokenizer/model/word_cache.hpp"

#include <bit>
#include <cstring>

namespace d9d {
namespace {

// Eight bytes at a time, multiply and fold; words are short, so no more is worth it.
std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL ^ word.size();
  const auto mix = [&](std::uint64_t value) {
    const auto product = static_cast<unsigned __int128>(hash ^ value) * 0xD6E8FEB86659FD93ULL;
    hash = static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  };
  std::size_t at = 0;
  for (; at + 8 <= word.size(); at += 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, word.data() + at, 8);
    mix(value);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, word.data() + at, word.size() - at);
  mix(rest);
  return hash;
}

}  // namespace

WordCache::WordCache(std::size_t words_max) : words_max_(words_max), slots_(std::bit_ceil(2 * words_max)) {}

std::size_t WordCache::slot_of(std::string_view word, std::uint64_t hash) const {
  std::size_t i = hash & (slots_.size() - 1);
  while (slots_[i].word_bytes != 0) {
    const Slot& slot = slots_[i];
    if (slot.hash == hash && std::string_view(words_).substr(slot.word_begin, slot.word_bytes) == word) break;
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

std::optional<std::span<const std::int32_t>> WordCache::find(std::string_view word) const {
  if (word.size() > word_bytes_max) return std::nullopt;
  const Slot& slot = slots_[slot_of(word, hash_of(word))];
  if (slot.word_bytes == 0) return std::nullopt;
  return std::span(ids_).subspan(slot.ids_begin, slot.num_ids);
}

void WordCache::put(std::string_view word, std::span<const std::int32_t> ids) {
  if (word.empty() || word.size() > word_bytes_max) return;
  if (num_words_ == words_max_) {
    slots_.assign(slots_.size(), {});
    words_.clear();
    ids_.clear();
    num_words_ = 0;
  }
  const std::uint64_t hash = hash_of(word);
  slots_[slot_of(word, hash)] = {
      hash, static_cast<std::uint32_t>(words_.size()), static_cast<std::uint32_t>(word.size()),
      static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(ids.size())};
  words_.append(word);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++num_words_;
}

}  // namespace d9d
