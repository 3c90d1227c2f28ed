#include "runtime/tokenizer/model/bpe_model.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/tokenizer/characters/byte_alphabet.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

// Up to this many symbols, looking at all of them for each merge is faster than keeping a heap.
constexpr std::size_t short_word = 48;

std::string text_or_nothing(const JsonSection& section, std::string_view key) {
  return section.has(key) ? section.text(key) : "";
}

// An entry of `merges`: "left right" or ["left", "right"].
std::pair<std::string, std::string> merge_at(const JsonSection& section, std::size_t i) {
  const nlohmann::json& entry = section.json()[i];
  if (entry.is_string()) {
    const auto& text = entry.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    D9D_REQUIRE(space != std::string::npos && text.find(' ', space + 1) == std::string::npos,
                "{}[{}] is \"{}\", expected two tokens with one space between", section.path(), i, text);
    return {text.substr(0, space), text.substr(space + 1)};
  }
  D9D_REQUIRE(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string(),
              "{}[{}] is {}, expected two tokens", section.path(), i, json_text(entry));
  return {entry[0].get<std::string>(), entry[1].get<std::string>()};
}

}  // namespace

BpeModel::BpeModel(const JsonSection& section, bool byte_level)
    : TokenModel(Vocabulary::from_json(section.at("vocab"))),
      byte_level_(byte_level),
      prefix_(text_or_nothing(section, "continuing_subword_prefix")),
      suffix_(text_or_nothing(section, "end_of_word_suffix")) {
  if (section.has("dropout") && section.json()["dropout"] != 0.0) section.refuse("dropout", "null");
  ignore_merges_ = section.flag("ignore_merges", false);
  fuse_unknown_ = section.flag("fuse_unk", false);
  byte_fallback_ = section.flag("byte_fallback", false);
  if (byte_fallback_ && !(prefix_ + suffix_).empty()) {
    section.refuse("byte_fallback with a prefix or suffix", "one of the two");
  }
  read_merges(section.at("merges"));
  read_units();
  if (ignore_merges_) read_whole_words();
  if (byte_fallback_) {
    // With a byte missing the library mixes unknown tokens in; such vocabularies are not trained.
    D9D_REQUIRE(std::ranges::all_of(byte_level_ ? unit_ids_[0] : fallback_ids_,
                                    [](std::int32_t id) { return id >= 0; }),
                "{}.byte_fallback is set, but the vocabulary lacks some bytes; add them or set it to false",
                section.path());
  }
  if (section.has("unk_token")) unknown_ = required_id(section, "unk_token", "");
}

void BpeModel::read_merges(const JsonSection& section) {
  const nlohmann::json& merges = section.json();
  D9D_REQUIRE(merges.is_array(), "{} is a {}, expected a list", section.path(), merges.type_name());
  merges_ = MergeTable(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right] = merge_at(section, i);
    const auto id = [&](const std::string& token) {
      const auto found = vocabulary_.id_of(token);
      D9D_REQUIRE(found, "{}[{}]: \"{}\" is not in the vocabulary", section.path(), i, token);
      return *found;
    };
    const std::int32_t left_id = id(left), right_id = id(right);
    const std::size_t dropped = right.starts_with(prefix_) ? prefix_.size() : 0;
    merges_.put(left_id, right_id, {static_cast<std::uint32_t>(i), id(left + right.substr(dropped))});
  }
}

std::string BpeModel::unit_token(std::string_view unit, Place place) const {
  return (place.first ? "" : prefix_) + std::string(unit) + (place.last ? suffix_ : "");
}

void BpeModel::read_units() {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(character,
                byte_level_ ? byte_character(static_cast<std::uint8_t>(byte)) : static_cast<char32_t>(byte));
    for (const Place place : {Place{false, false}, {true, false}, {false, true}, {true, true}}) {
      unit_ids_[place.index()][byte] = vocabulary_.id_of(unit_token(character, place)).value_or(-1);
    }
    fallback_ids_[byte] = vocabulary_.id_of(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

void BpeModel::read_whole_words() {
  const auto& tokens = vocabulary_.tokens();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id]) continue;
    const auto word = byte_level_ ? bytes_of_token(*tokens[id]) : tokens[id];
    if (word) whole_words_.add(*word, static_cast<std::int32_t>(id));
  }
}

void BpeModel::encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto id = whole_words_.id_of(word)) {
      if (scratch.begins != nullptr) scratch.begins->push_back(0);
      return ids.push_back(*id);
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
  if (scratch.begins == nullptr) return;
  // A merged symbol keeps the place of its first unit.
  for (std::int32_t at = 0; at >= 0; at = scratch.symbols[at].next) {
    scratch.begins->push_back(scratch.unit_begins[at]);
  }
}

std::optional<std::int32_t> BpeModel::unit_id(std::string_view unit, Place place,
                                              ModelScratch& scratch) const {
  if (unit.size() == 1) {
    const std::int32_t id = unit_ids_[place.index()][static_cast<unsigned char>(unit[0])];
    return id >= 0 ? std::optional(id) : std::nullopt;
  }
  const bool bare = (place.first || prefix_.empty()) && (!place.last || suffix_.empty());
  if (bare) return vocabulary_.id_of(unit);
  scratch.text = unit_token(unit, place);
  return vocabulary_.id_of(scratch.text);
}

void BpeModel::split_units(std::string_view word, ModelScratch& scratch) const {
  scratch.symbols.clear();
  scratch.unit_begins.clear();
  bool unknown_open = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = byte_level_ ? 1 : code_point_at(word, at).length;
    const std::string_view unit = word.substr(at, length);
    const Place place{at == 0, at + length == word.size()};
    add_unit(unit, unit_id(unit, place, scratch), unknown_open, scratch);
    if (scratch.begins != nullptr)
      scratch.unit_begins.resize(scratch.symbols.size(), static_cast<std::uint32_t>(at));
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
                        ModelScratch& scratch) const {
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

void BpeModel::merge_short(ModelScratch& scratch) const {
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

void BpeModel::propose(ModelScratch& scratch, std::int32_t position) const {
  const auto& left = scratch.symbols[position];
  const Merge merge = merges_.find(left.id, scratch.symbols[left.next].id);
  if (merge.rank == Merge::unknown_rank) return;
  scratch.heap.push_back({merge.rank, position, merge.merged});
}

void BpeModel::merge_long(ModelScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  const auto later = [](const ModelScratch::Candidate& a, const ModelScratch::Candidate& b) {
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
    const ModelScratch::Candidate top = heap.back();
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
