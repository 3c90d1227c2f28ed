#include "runtime/tokenizer/codec/token_settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// In the order in which transformers adds them.
constexpr std::array<const char*, 7> named_tokens{"bos_token", "eos_token", "unk_token", "sep_token",
                                                  "pad_token", "cls_token", "mask_token"};
constexpr std::array<const char*, 2> more_tokens{"additional_special_tokens", "extra_special_tokens"};

// Null where there is no such file.
OrderedJson object_in(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return nullptr;
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  require_no_byte_order_mark(text, path.string());
  OrderedJson json = try_parse_json<OrderedJson>(text);
  D9D_REQUIRE(json.is_object(), "{} is not a JSON object; mend the file or remove it", path.string());
  return json;
}

std::int32_t id_of(std::int64_t id, const std::string& where) {
  D9D_REQUIRE(id >= 0 && id < token_ids_max, "{} is {}, expected an id from 0 to {}", where, id,
              token_ids_max - 1);
  return static_cast<std::int32_t>(id);
}

// "<s>", or {"content": "<s>", "lstrip": false, ...}; nothing for null.
std::optional<AddedToken> token_in(const OrderedJson& json, const std::string& where, bool special) {
  if (json.is_null()) return std::nullopt;
  AddedToken token;
  const nlohmann::json plain = json;
  if (json.is_object()) {
    const JsonSection item(plain, where);
    token.content = item.text("content");
    token.special = item.flag("special", special);
    token.normalized = item.flag("normalized", !token.special);
    token.single_word = item.flag("single_word", false);
    token.lstrip = item.flag("lstrip", false);
    token.rstrip = item.flag("rstrip", false);
  } else {
    token.content = JsonSection(plain, where).text();
    token.special = special;
    token.normalized = !special;
  }
  return token.content.empty() ? std::nullopt : std::optional(token);
}

class SettingsReader {
 public:
  explicit SettingsReader(const fs::path& folder) : folder_(folder) {}

  TokenSettings read() {
    const std::string path = (folder_ / "tokenizer_config.json").string();
    const OrderedJson config = object_in(path);
    const bool decoder = config.is_object() && config.contains("added_tokens_decoder") &&
                         config["added_tokens_decoder"].is_object();
    if (decoder) read_decoder(config["added_tokens_decoder"], path);
    if (config.is_object()) read_names(config, path);
    if (!decoder) {
      const std::string map = (folder_ / "special_tokens_map.json").string();
      if (const OrderedJson names = object_in(map); names.is_object()) read_names(names, map);
      read_added((folder_ / "added_tokens.json").string());
    }
    if (config.is_object()) read_flags(config, path);
    std::ranges::stable_sort(settings_.tokens, [](const auto& a, const auto& b) {
      return a.has_id != b.has_id ? a.has_id : a.has_id && a.token.id < b.token.id;
    });
    return std::move(settings_);
  }

 private:
  // What is known of a token already stays.
  void add(AddedToken token, bool has_id, const std::string& where) {
    const auto same =
        std::ranges::find(settings_.tokens, token.content,
                          [](const TokenSettings::Token& known) { return known.token.content; });
    if (same == settings_.tokens.end()) {
      settings_.tokens.push_back({std::move(token), has_id, where});
    } else if (has_id && !same->has_id) {
      same->token.id = token.id;
      same->has_id = true;
    }
  }

  void read_decoder(const OrderedJson& decoder, const std::string& path) {
    for (const auto& [key, value] : decoder.items()) {
      const std::string where = path + ": added_tokens_decoder." + key;
      std::int64_t id = -1;
      const auto end = std::from_chars(key.data(), key.data() + key.size(), id);
      D9D_REQUIRE(end.ptr == key.data() + key.size() && end.ec == std::errc(), "{} is no id", where);
      auto token = token_in(value, where, false);
      if (!token) continue;
      token->id = id_of(id, where);
      add(*token, true, path);
    }
  }

  void read_added(const std::string& path) {
    const OrderedJson added = object_in(path);
    if (!added.is_object()) return;
    for (const auto& [content, id] : added.items()) {
      const std::string where = path + ": \"" + content + "\"";
      D9D_REQUIRE(id.is_number_integer(), "{} is {}, expected an id", where, json_text(id));
      AddedToken token{.content = content, .id = id_of(id.get<std::int64_t>(), where), .normalized = true};
      if (!content.empty()) add(std::move(token), true, path);
    }
  }

  void read_names(const OrderedJson& names, const std::string& path) {
    for (const char* key : named_tokens) {
      const auto found = names.find(key);
      const auto token = found == names.end() ? std::nullopt : token_in(*found, path + ": " + key, true);
      if (!token) continue;
      add(*token, false, path);
      note_name(key, token->content);
    }
    for (const char* key : more_tokens) {
      const auto list = names.find(key);
      if (list == names.end() || !list->is_array()) continue;
      for (const OrderedJson& item : *list) {
        if (const auto token = token_in(item, path + ": " + key, true)) add(*token, false, path);
      }
    }
  }

  void note_name(std::string_view key, const std::string& token) {
    const auto note = [&](std::string_view name, std::optional<std::string>& into) {
      if (key == name && !into) into = token;
    };
    note("bos_token", settings_.bos);
    note("eos_token", settings_.eos);
    note("pad_token", settings_.pad);
    note("mask_token", settings_.mask);
  }

  void read_flags(const OrderedJson& config, const std::string& path) {
    const auto flag = [&](const char* key) -> std::optional<bool> {
      const auto found = config.find(key);
      if (found == config.end() || found->is_null()) return std::nullopt;
      D9D_REQUIRE(found->is_boolean(), "{}: {} is {}, expected true or false", path, key, found->dump());
      return found->get<bool>();
    };
    settings_.adds_bos = flag("add_bos_token").value_or(false);
    settings_.adds_eos = flag("add_eos_token").value_or(false);
    settings_.legacy = flag("legacy").value_or(false);
    settings_.adds_prefix_space = flag("add_prefix_space");
  }

  const fs::path folder_;
  TokenSettings settings_;
};

}  // namespace

std::string TokenSettings::digest_text() const {
  std::string text;
  for (const auto& [token, has_id, where] : tokens) {
    text += fmt::format("{} {} {}{}{}{}{}\n", token.content, has_id ? token.id : -1, token.special,
                        token.normalized, token.single_word, token.lstrip, token.rstrip);
  }
  if (legacy) text += "legacy\n";
  if (adds_prefix_space) text += fmt::format("add_prefix_space {}\n", *adds_prefix_space);
  return text;
}

TokenSettings token_settings_beside(const fs::path& file) {
  if (file.filename() != "tokenizer.json" && file.filename() != "tokenizer.model") return {};
  return SettingsReader(file.parent_path()).read();
}

std::vector<AddedToken> with_settings(std::vector<AddedToken> own, const TokenSettings& settings,
                                      const KnownTokens& known) {
  std::unordered_map<std::string, std::int32_t> ids;
  std::unordered_map<std::int32_t, std::string> at;
  auto next = static_cast<std::int32_t>(known.tokens.size());
  const auto note = [&](const std::string& token, std::int32_t id) {
    ids[token] = id;
    at[id] = token;
    next = std::max(next, id + 1);
  };
  for (std::size_t id = 0; id < known.tokens.size(); ++id) {
    if (known.tokens[id]) note(*known.tokens[id], static_cast<std::int32_t>(id));
  }
  std::unordered_set<std::string> is_own;
  for (const AddedToken& token : own) {
    note(token.content, token.id);
    is_own.insert(token.content);
  }
  for (const auto& [token, has_id, where] : settings.tokens) {
    if (const auto found = ids.find(token.content); found != ids.end()) {
      D9D_REQUIRE(!has_id || token.id == found->second,
                  "{} gives the token \"{}\" the id {}, and the tokenizer's file {}; make them agree", where,
                  token.content, token.id, found->second);
      if (is_own.contains(token.content)) continue;
      own.push_back(token);
      own.back().id = found->second;
      continue;
    }
    AddedToken more = token;
    if (!has_id) more.id = next;
    const auto taken = at.find(more.id);
    D9D_REQUIRE(known.renames || taken == at.end(),
                "{} gives the token \"{}\" the id {}, which is that of \"{}\" in the tokenizer's file; make "
                "them agree",
                where, more.content, more.id, taken->second);
    note(more.content, more.id);
    own.push_back(std::move(more));
  }
  return own;
}

}  // namespace d9d
