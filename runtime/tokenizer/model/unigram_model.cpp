#include "runtime/tokenizer/model/unigram_model.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

constexpr double unknown_penalty = 10;

// [["token", score], ...]: the id is the place in the list.
Vocabulary unigram_vocabulary(const JsonSection& section) {
  const nlohmann::json& entries = section.json();
  D9D_REQUIRE(entries.is_array() && entries.size() < static_cast<std::size_t>(token_ids_max),
              "{} is not a list of at most {} tokens with their scores", section.path(), token_ids_max - 1);
  Vocabulary vocabulary;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const nlohmann::json& entry = entries[i];
    D9D_REQUIRE(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number(),
                "{}[{}] is {}, expected a token and its score", section.path(), i, json_text(entry));
    vocabulary.add(entry[0].get_ref<const std::string&>(), static_cast<std::int32_t>(i));
  }
  return vocabulary;
}

std::vector<ByteTrie::Entry> trie_entries(const Vocabulary& vocabulary) {
  std::vector<ByteTrie::Entry> entries;
  for (const auto& token : vocabulary.tokens()) {
    entries.emplace_back(*token, *vocabulary.id_of(*token));
  }
  return entries;
}

}  // namespace

UnigramModel::UnigramModel(const JsonSection& section)
    : TokenModel(unigram_vocabulary(section.at("vocab"))), trie_(trie_entries(vocabulary_)) {
  double lowest = std::numeric_limits<double>::infinity();
  const JsonSection vocabulary = section.at("vocab");
  for (const nlohmann::json& entry : vocabulary.json()) {
    scores_.push_back(entry[1].get<double>());
    lowest = std::min(lowest, scores_.back());
  }
  unknown_score_ = lowest - unknown_penalty;
  if (section.has("unk_id")) {
    const std::int64_t id = section.at("unk_id").integer();
    D9D_REQUIRE(id >= 0 && id < static_cast<std::int64_t>(scores_.size()),
                "{}.unk_id is {}, but the vocabulary has {} tokens", section.path(), id, scores_.size());
    unknown_ = static_cast<std::int32_t>(id);
  }
  if (!section.flag("byte_fallback", false)) return;
  byte_fallback_ = true;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto id = vocabulary_.id_of(fmt::format("<0x{:02X}>", byte));
    // With a byte missing the library falls back for some characters only; such vocabularies are not trained.
    D9D_REQUIRE(id,
                "{}.byte_fallback is set, but the vocabulary lacks some bytes; add them or set it to false",
                section.path());
    fallback_ids_[byte] = *id;
  }
}

void UnigramModel::find_paths(std::string_view word, ModelScratch& scratch) const {
  auto& paths = scratch.paths;
  paths.assign(word.size() + 1, {});
  const auto propose = [&](std::size_t begin, std::size_t end, std::int32_t id, double score) {
    ModelScratch::PathEnd& path = paths[end];
    // Of two ways that are as good the one found first counts: the one whose last token is longer.
    if (path.begin >= 0 && score <= path.score) return;
    path = {id, static_cast<std::int32_t>(begin), score};
  };
  for (std::size_t at = 0; at < word.size();) {
    const double before = paths[at].score;
    const std::size_t character = code_point_at(word, at).length;
    bool known = false;
    trie_.for_each_prefix(word.substr(at), [&](std::size_t length, std::int32_t id) {
      propose(at, at + length, id, scores_[static_cast<std::size_t>(id)] + before);
      known = known || length == character;
    });
    if (!known) {
      D9D_REQUIRE(unknown_, "\"{}\" has no token, and model.unk_id names none for such characters",
                  word.substr(at, character));
      propose(at, at + character, *unknown_, unknown_score_ + before);
    }
    at += character;
  }
}

void UnigramModel::add_unknown(std::string_view text, std::vector<std::int32_t>& ids) const {
  // What was cut as unknown may be a token as a whole.
  if (const auto id = vocabulary_.id_of(text)) {
    ids.push_back(*id);
  } else if (byte_fallback_) {
    for (const char byte : text) ids.push_back(fallback_ids_[static_cast<unsigned char>(byte)]);
  } else {
    ids.push_back(*unknown_);
  }
}

void UnigramModel::encode(std::string_view word, ModelScratch& scratch,
                          std::vector<std::int32_t>& ids) const {
  std::size_t before = ids.size();
  find_paths(word, scratch);
  // The links lead from the end to the begin; turned round they are the tokens in order.
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (auto at = static_cast<std::int32_t>(word.size()); at > 0;) {
    const ModelScratch::PathEnd& path = scratch.paths[static_cast<std::size_t>(at)];
    symbols.push_back({path.id, path.begin, at, 0});
    at = path.begin;
  }
  std::size_t unknown_begin = 0;
  bool unknown_open = false;
  const auto note_begin = [&](std::size_t begin) {
    if (scratch.begins != nullptr) {
      scratch.begins->resize(scratch.begins->size() + ids.size() - before, static_cast<std::uint32_t>(begin));
    }
    before = ids.size();
  };
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const bool is_unknown = unknown_ && symbols[i].id == *unknown_;
    if (is_unknown && !unknown_open) unknown_begin = static_cast<std::size_t>(symbols[i].previous);
    unknown_open = is_unknown;
    if (!is_unknown) {
      ids.push_back(symbols[i].id);
      note_begin(static_cast<std::size_t>(symbols[i].previous));
    } else if (i == 0 || symbols[i - 1].id != *unknown_) {
      add_unknown(word.substr(unknown_begin, static_cast<std::size_t>(symbols[i].next) - unknown_begin), ids);
      note_begin(unknown_begin);
    }
  }
}

}  // namespace d9d
