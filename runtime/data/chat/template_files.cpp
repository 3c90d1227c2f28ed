#include "runtime/data/chat/template_files.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* default_name = "default";

std::string text_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  D9D_REQUIRE(file, "cannot read {}", path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// transformers takes the mark for a part of the template and so writes it in front of every conversation.
std::string template_in(const fs::path& path) {
  std::string text = text_in(path);
  D9D_REQUIRE(
      !text.starts_with(byte_order_mark),
      "{} begins with a byte order mark (the bytes EF BB BF), which would be a part of every conversation; "
      "save it as UTF-8 without the mark",
      path.string());
  return text;
}

Json object_in(const fs::path& path) {
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable)) return Json::object();
  const std::string text = text_in(path);
  require_no_byte_order_mark(text, path.string());
  Json json = try_parse_json<Json>(text);
  D9D_REQUIRE(json.is_object(), "{} is not a JSON object; mend the file or remove it", path.string());
  return json;
}

fs::path folder_of(const std::string& tokenizer) {
  std::error_code unreadable;
  const fs::path path = tokenizer;
  if (fs::is_directory(path, unreadable)) return path;
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void add_jinja_files(ChatTemplate& found, const fs::path& folder) {
  std::error_code unreadable;
  const fs::path single = folder / "chat_template.jinja";
  if (fs::is_regular_file(single, unreadable)) {
    found.texts[default_name] = template_in(single);
    found.where = single.string();
  }
  const fs::path more = folder / "additional_chat_templates";
  for (const fs::directory_entry& file : fs::directory_iterator(more, unreadable)) {
    if (file.path().extension() != ".jinja") continue;
    found.texts[file.path().stem().string()] = template_in(file.path());
    if (found.where.empty()) found.where = more.string();
  }
}

void add_settings(ChatTemplate& found, const Json& settings, const fs::path& path) {
  const auto given = settings.find("chat_template");
  if (given == settings.end() || given->is_null()) return;
  found.where = path.string();
  if (given->is_string()) {
    found.texts[default_name] = given->get<std::string>();
  } else if (given->is_object()) {
    for (const auto& [name, text] : given->items()) {
      if (text.is_string()) found.texts[name] = text.get<std::string>();
    }
  } else if (given->is_array()) {
    for (const Json& one : *given) {
      if (!one.is_object() || !one.contains("name") || !one.contains("template")) continue;
      if (one["name"].is_string() && one["template"].is_string())
        found.texts[one["name"].get<std::string>()] = one["template"].get<std::string>();
    }
  }
  D9D_REQUIRE(!found.texts.empty(), "{}: chat_template is neither a text nor a list of {{name, template}}",
              path.string());
}

void add_special_tokens(Json& tokens, const Json& settings) {
  for (const auto& [key, value] : settings.items()) {
    if (key == "extra_special_tokens" && value.is_object()) add_special_tokens(tokens, value);
    if (!key.ends_with("_token") || tokens.contains(key)) continue;
    const Json& text = value.is_object() && value.contains("content") ? value["content"] : value;
    if (text.is_string()) tokens[key] = text;
  }
}

void choose(ChatTemplate& found, const std::string& wanted, const std::string& tokenizer) {
  std::error_code unreadable;
  if (found.texts.contains(wanted)) {
    found.choice = wanted;
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, text] : found.texts) names.push_back(name);
  D9D_REQUIRE(
      fs::is_regular_file(wanted, unreadable),
      "chat_template = {}: there is no such file, and {} beside {}; name a file with a Jinja template{}",
      wanted,
      names.empty() ? "no template" : fmt::format("no template of this name ({})", fmt::join(names, ", ")),
      tokenizer, names.empty() ? "" : " or one of these");
  found.texts = {{default_name, template_in(wanted)}};
  found.where = wanted;
}

}  // namespace

std::optional<ChatTemplate> find_chat_template(const std::string& tokenizer,
                                               const std::optional<std::string>& wanted) {
  const fs::path folder = folder_of(tokenizer);
  ChatTemplate found;
  // A tokenizer of another name stands alone: what is beside it may be of another one.
  std::error_code unreadable;
  const std::string name = fs::path(tokenizer).filename().string();
  if (name == "tokenizer.json" || name == "tokenizer.model" || fs::is_directory(tokenizer, unreadable)) {
    const Json settings = object_in(folder / "tokenizer_config.json");
    add_jinja_files(found, folder);
    if (found.texts.empty()) add_settings(found, settings, folder / "tokenizer_config.json");
    if (found.texts.empty())
      add_settings(found, object_in(folder / "chat_template.json"), folder / "chat_template.json");
    add_special_tokens(found.special_tokens, settings);
    add_special_tokens(found.special_tokens, object_in(folder / "special_tokens_map.json"));
  }
  if (wanted) choose(found, *wanted, tokenizer);
  if (found.texts.empty()) return std::nullopt;
  D9D_REQUIRE(
      found.choice || found.texts.size() == 1 || found.texts.contains(default_name),
      "{} has several chat templates and none is called default; name one of them with chat_template: {}",
      found.where, [&] {
        std::vector<std::string> names;
        for (const auto& [its_name, text] : found.texts) names.push_back(its_name);
        return fmt::format("{}", fmt::join(names, ", "));
      }());
  return found;
}

}  // namespace d9d
