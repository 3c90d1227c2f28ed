#include "runtime/data/bpe/bpe_model.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/data/bpe/byte_alphabet.hpp"
#include "runtime/data/bpe/utf8.hpp"

namespace d9d {
namespace {

// Up to this many symbols, looking at all of them for each merge is faster than keeping a heap.
constexpr std::size_t short_word = 48;

void refuse_affix(const JsonSection& section, std::string_view key) {
  if (section.has(key) && !section.text(key).empty()) section.refuse(key, "null");
}

}  // namespace

BpeModel::BpeModel(const JsonSection& section, bool byte_level) : byte_level_(byte_level) {
  // Old files leave the type out and are BPE when they have merges.
  const std::string type =
      section.has("type") ? section.text("type") : (section.has("merges") ? "BPE" : "(none)");
  if (type != "BPE") section.refuse(fmt::format("the model {}", type), "BPE");
  if (section.has("dropout") && section.json()["dropout"] != 0.0) section.refuse("dropout", "null");
  refuse_affix(section, "continuing_subword_prefix");
  refuse_affix(section, "end_of_word_suffix");
  ignore_merges_ = section.flag("ignore_merges", false);
  fuse_unknown_ = section.flag("fuse_unk", false);
  byte_fallback_ = section.flag("byte_fallback", false);
  read_vocabulary(section.at("vocab"));
  read_merges(section.at("merges"));
  read_units();
  if (byte_fallback_) {
    // With a byte missing the library mixes unknown tokens in; such vocabularies are not trained.
    D9D_REQUIRE(
        std::ranges::all_of(byte_level_ ? byte_ids_ : fallback_ids_, [](std::int32_t id) { return id >= 0; }),
        "{}.byte_fallback is set, but the vocabulary lacks some bytes; add them or set it to false",
        section.path());
  }
  if (!section.has("unk_token")) return;
  unknown_ = id_of(section.text("unk_token"));
  D9D_REQUIRE(unknown_, "{}.unk_token \"{}\" is not in the vocabulary", section.path(),
              section.text("unk_token"));
}

void BpeModel::read_vocabulary(const JsonSection& section) {
  D9D_REQUIRE(section.json().is_object(), "{} is not an object of ids by token", section.path());
  vocabulary_.reserve(section.json().size());
  for (const auto& [token, id] : section.json().items()) {
    const bool fits =
        id.is_number_integer() && id.get<std::int64_t>() >= 0 && id.get<std::int64_t>() < token_ids_max;
    D9D_REQUIRE(fits, "{}: the id of \"{}\" is {}, expected a whole number from 0 to {}", section.path(),
                token, id.dump(), token_ids_max - 1);
    vocabulary_.emplace(token, id.get<std::int32_t>());
  }
}

void BpeModel::read_merges(const JsonSection& section) {
  const nlohmann::json& merges = section.json();
  D9D_REQUIRE(merges.is_array(), "{} is a {}, expected a list", section.path(), merges.type_name());
  merges_ = MergeTable(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const nlohmann::json& entry = merges[i];
    std::string left, right;
    if (entry.is_string()) {
      const auto& text = entry.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      D9D_REQUIRE(space != std::string::npos && text.find(' ', space + 1) == std::string::npos,
                  "{}[{}] is \"{}\", expected two tokens with one space between", section.path(), i, text);
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else {
      D9D_REQUIRE(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string(),
                  "{}[{}] is {}, expected two tokens", section.path(), i, entry.dump());
      left = entry[0].get<std::string>();
      right = entry[1].get<std::string>();
    }
    const auto id = [&](const std::string& token) {
      const auto found = vocabulary_.find(token);
      D9D_REQUIRE(found != vocabulary_.end(), "{}[{}]: \"{}\" is not in the vocabulary", section.path(), i,
                  token);
      return found->second;
    };
    const std::int32_t left_id = id(left), right_id = id(right);
    merges_.put(left_id, right_id, {static_cast<std::uint32_t>(i), id(left + right)});
  }
}

void BpeModel::read_units() {
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character, byte_character(static_cast<std::uint8_t>(byte)));
    byte_ids_[byte] = id_of(character).value_or(-1);
    fallback_ids_[byte] = id_of(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
  if (!ignore_merges_) return;
  for (const auto& [token, id] : vocabulary_) {
    if (!byte_level_) {
      whole_words_.emplace(token, id);
    } else if (const auto bytes = bytes_of_token(token)) {
      whole_words_.emplace(*bytes, id);
    }
  }
}

std::optional<std::int32_t> BpeModel::id_of(std::string_view token) const {
  const auto found = vocabulary_.find(std::string(token));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

void BpeModel::encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const {
  if (ignore_merges_) {
    scratch.units = word;
    if (const auto found = whole_words_.find(scratch.units); found != whole_words_.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  split_units(word, scratch);
  if (scratch.symbols.empty()) return;
  if (scratch.symbols.size() <= short_word) {
    merge_short(scratch);
  } else {
    merge_long(scratch);
  }
  for (std::int32_t at = 0; at >= 0; at = scratch.symbols[at].next) ids.push_back(scratch.symbols[at].id);
}

void BpeModel::split_units(std::string_view word, BpeScratch& scratch) const {
  scratch.symbols.clear();
  bool unknown_open = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = byte_level_ ? 1 : code_point_at(word, at).length;
    const std::string_view unit = word.substr(at, length);
    if (byte_level_) {
      const std::int32_t id = byte_ids_[static_cast<unsigned char>(unit[0])];
      add_unit(unit, id >= 0 ? std::optional(id) : std::nullopt, unknown_open, scratch);
    } else {
      scratch.units = unit;
      add_unit(unit, id_of(scratch.units), unknown_open, scratch);
    }
    at += length;
  }
  auto& symbols = scratch.symbols;
  const auto count = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
}

void BpeModel::add_unit(std::string_view unit, std::optional<std::int32_t> id, bool& unknown_open,
                        BpeScratch& scratch) const {
  const auto push = [&](std::int32_t which) {
    scratch.symbols.push_back({which, -1, -1, Merge::unknown_rank});
  };
  if (id) {
    unknown_open = false;
    return push(*id);
  }
  const auto fallback = [&](char byte) { return fallback_ids_[static_cast<unsigned char>(byte)]; };
  if (byte_fallback_) {
    for (const char byte : unit) push(fallback(byte));
    return;
  }
  if (!unknown_ || (fuse_unknown_ && unknown_open)) return;
  push(*unknown_);
  unknown_open = true;
}

void BpeModel::merge_short(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  const auto rank_of = [&](std::int32_t at) {
    const std::int32_t next = symbols[at].next;
    return next < 0 ? Merge::unknown_rank : merges_.find(symbols[at].id, symbols[next].id).rank;
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) symbols[i].rank = rank_of(static_cast<std::int32_t>(i));
  for (;;) {
    std::int32_t best = 0;
    for (std::int32_t at = symbols[0].next; at >= 0; at = symbols[at].next) {
      if (symbols[at].rank < symbols[best].rank) best = at;
    }
    auto& left = symbols[best];
    if (left.rank == Merge::unknown_rank) return;
    const auto& right = symbols[left.next];
    left.id = merges_.find(left.id, right.id).merged;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = best;
    left.rank = rank_of(best);
    if (left.previous >= 0) symbols[left.previous].rank = rank_of(left.previous);
  }
}

void BpeModel::propose(BpeScratch& scratch, std::int32_t position) const {
  const auto& left = scratch.symbols[position];
  const Merge merge = merges_.find(left.id, scratch.symbols[left.next].id);
  if (merge.rank == Merge::unknown_rank) return;
  scratch.heap.push_back({merge.rank, position, merge.merged});
}

void BpeModel::merge_long(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto later = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  heap.clear();
  for (std::int32_t at = 0; symbols[at].next >= 0; ++at) propose(scratch, at);
  std::make_heap(heap.begin(), heap.end(), later);
  const auto consider = [&](std::int32_t position) {
    const std::size_t before = heap.size();
    propose(scratch, position);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const BpeScratch::Candidate top = heap.back();
    heap.pop_back();
    auto& left = symbols[top.position];
    // Merges since it was proposed may have swallowed either side.
    if (left.id < 0 || left.next < 0 || merges_.find(left.id, symbols[left.next].id).merged != top.merged)
      continue;
    auto& right = symbols[left.next];
    left.id = top.merged;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = top.position;
    if (left.previous >= 0) consider(left.previous);
    if (left.next >= 0) consider(top.position);
  }
}

}  // namespace d9d
