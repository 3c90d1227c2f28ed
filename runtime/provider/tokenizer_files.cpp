#include "runtime/provider/tokenizer_files.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/family/position_limit.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/model_folder/carried_files.hpp"
#include "runtime/model_folder/used_template.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/model/export_folder.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t bytes_max = 256 << 20;
constexpr const char* vocabulary_name = "tokenizer.json";
constexpr const char* settings_name = "tokenizer_config.json";
constexpr const char* generation_name = "generation_config.json";
constexpr const char* pieces_name = "tokenizer.model";
constexpr const char* template_name = "chat_template.jinja";
// Of a model, whoever its tokenizer is of.
constexpr std::array<const char*, 3> of_model{generation_name, "preprocessor_config.json",
                                              "processor_config.json"};
constexpr std::array<const char*, 12> names{vocabulary_name,
                                            pieces_name,
                                            settings_name,
                                            generation_name,
                                            "special_tokens_map.json",
                                            "added_tokens.json",
                                            "vocab.json",
                                            "merges.txt",
                                            "chat_template.jinja",
                                            "chat_template.json",
                                            "preprocessor_config.json",
                                            "processor_config.json"};

// Files of chat_templates_folder where there are no folders: in a checkpoint.
const std::string flat_templates = std::string(chat_templates_folder) + ".";
// Files of the model's folder that nobody reads, where others may have their names: in a checkpoint.
const std::string carried = "carried.";
constexpr std::string_view template_ending = ".jinja";

bool is_flat_template(const std::string& name) {
  return name.starts_with(flat_templates) && name.ends_with(template_ending);
}

Json object_in(const std::string& text, const std::string& path) {
  require_no_byte_order_mark(text, path);
  Json json = try_parse_json<Json>(text);
  D9D_REQUIRE(json.is_object(), "{} is not a JSON object; mend the file or remove it", path);
  return json;
}

std::optional<std::int64_t> id_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

SpecialTokens special_tokens_of(const Json& json) {
  SpecialTokens tokens{{}, id_in(json, "bos_token_id"), id_in(json, "pad_token_id")};
  if (const auto one = id_in(json, "eos_token_id")) tokens.eos = {*one};
  const auto list = json.find("eos_token_id");
  if (list == json.end() || !list->is_array()) return tokens;
  for (const Json& id : *list) {
    if (id.is_number_integer()) tokens.eos.push_back(id.get<std::int64_t>());
  }
  return tokens;
}

// Keeps what is known already.
void add(SpecialTokens& tokens, const SpecialTokens& more) {
  for (const std::int64_t id : more.eos) {
    if (std::find(tokens.eos.begin(), tokens.eos.end(), id) == tokens.eos.end()) tokens.eos.push_back(id);
  }
  if (!tokens.bos) tokens.bos = more.bos;
  if (!tokens.pad) tokens.pad = more.pad;
}

// The folder whose files belong to the tokenizer. A file of another name stands alone: what is beside it
// may be of another tokenizer.
std::optional<std::string> tokenizer_folder(const JobConfig& job) {
  const auto text = text_tokens_of(job);
  if (!text) return model_folder(job);
  const std::filesystem::path path = text->tokenizer;
  if (path.filename() != vocabulary_name && path.filename() != pieces_name) return std::nullopt;
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

// The tokenizer of the job's texts, read once.
struct TextTokenizer {
  TextTokens text;
  Tokenizer tokenizer;
};

std::optional<TextTokenizer> text_tokenizer_of(const JobConfig& job) {
  const auto text = text_tokens_of(job);
  if (!text) return std::nullopt;
  return TextTokenizer{*text, Tokenizer::from_file(text->tokenizer)};
}

SpecialTokens tokens_of_data(const std::optional<TextTokenizer>& of_texts) {
  if (!of_texts) return {};
  const auto& [text, tokenizer] = *of_texts;
  SpecialTokens tokens;
  if (text.bos_token) tokens.bos = tokenizer.token_id(*text.bos_token);
  const auto eos = text.eos_token ? tokenizer.token_id(*text.eos_token) : std::nullopt;
  if (eos) tokens.eos = {*eos};
  return tokens;
}

// The end of a text that the tokenizer names is one for the model, too: texts of a chat template have it, whatever the
// model before stopped at (transformers' Trainer adds it, too). A model that begins anew has the other special tokens
// of its tokenizer, where the job says none.
void add_tokenizers_own(SpecialTokens& tokens, const JobConfig& job, const FamilyModel* model,
                        const std::optional<TextTokenizer>& of_texts, const TokenizerFiles& files) {
  const auto given = files.find(settings_name);
  if (!of_texts || given == files.end()) return;
  const Json settings = object_in(given->second, settings_name);
  const auto id_of = [&](const char* key) -> std::optional<std::int64_t> {
    Json name = settings.value(key, Json());
    if (name.is_object()) name = name.value("content", Json());
    if (!name.is_string()) return std::nullopt;
    const auto id = of_texts->tokenizer.token_id(name.get<std::string>());
    return id && (model == nullptr || *id < model->vocab_size) ? std::optional<std::int64_t>(*id)
                                                               : std::nullopt;
  };
  const bool is_new = !model_folder(job);
  const auto eos = is_new && !tokens.eos.empty() ? std::nullopt : id_of("eos_token");
  SpecialTokens own;
  if (eos) own.eos = {*eos};
  if (is_new) own.bos = id_of("bos_token"), own.pad = id_of("pad_token");
  add(tokens, own);
}

// The tokens that stand for the special ids, for those who read text.
void name_tokens(Json& settings, const std::optional<TextTokenizer>& of_texts, const SpecialTokens& tokens) {
  if (!of_texts) return;
  const TextTokens& text = of_texts->text;
  const auto name = [&](const char* key, const std::optional<std::int64_t>& id) {
    const auto token = id ? of_texts->tokenizer.token_text(static_cast<std::int32_t>(*id)) : std::nullopt;
    if (token && settings.value(key, Json()).is_null()) settings[key] = *token;
  };
  if (text.eos_token && settings.value("eos_token", Json()).is_null())
    settings["eos_token"] = *text.eos_token;
  name("bos_token", tokens.bos);
  name("pad_token", tokens.pad);
}

// The general class reads tokenizer.json as it is; a family's own class may add to it, and has to read what
// is in a .model alone.
Json new_settings(const FamilyModel* model, const TokenizerFiles& files) {
  Json settings = {{"clean_up_tokenization_spaces", false}};
  if (files.contains(vocabulary_name)) settings["tokenizer_class"] = "PreTrainedTokenizerFast";
  if (model) settings["model_max_length"] = position_limit(*model);
  return settings;
}

// What the folder of the model says of generation, changed by what the job knows.
Json generation_of(const Disk& disk, const JobConfig& job, const FamilyModel* model,
                   const std::optional<TextTokenizer>& of_texts, const TokenizerFiles& files,
                   SpecialTokens& tokens) {
  Json generation = Json::object();
  if (const auto given = files.find(generation_name); given != files.end()) {
    generation = object_in(given->second, generation_name);
  } else if (const auto folder = model_folder(job)) {
    const std::string path = join_path(*folder, generation_name);
    if (disk.exists(path)) generation = object_in(read_text(disk, path, bytes_max), path);
  }
  tokens = special_tokens_of(generation);
  if (model) add(tokens, {model->eos_token_ids, model->bos_token_id, model->pad_token_id});
  if (const auto folder = model_folder(job)) {
    const std::string path = join_path(*folder, "config.json");
    if (disk.exists(path)) add(tokens, special_tokens_of(object_in(read_text(disk, path, bytes_max), path)));
  }
  add(tokens, tokens_of_data(of_texts));
  add_tokenizers_own(tokens, job, model, of_texts, files);
  if (!tokens.eos.empty()) {
    generation["eos_token_id"] = tokens.eos.size() == 1 ? Json(tokens.eos.front()) : Json(tokens.eos);
  }
  if (tokens.bos) generation["bos_token_id"] = *tokens.bos;
  if (tokens.pad) generation["pad_token_id"] = *tokens.pad;
  return generation;
}

// What stands beside the model's weights and is of no tokenizer.
void add_files_of_model(const Disk& disk, const JobConfig& job, TokenizerFiles& files) {
  const auto folder = model_folder(job);
  if (!folder || !disk.exists(*folder)) return;
  for (const char* name : of_model) {
    const std::string path = join_path(*folder, name);
    if (!files.contains(name) && disk.exists(path)) files[name] = read_text(disk, path, bytes_max);
  }
  std::vector<std::string> read(names.begin(), names.end());
  read.emplace_back("config.json");
  const CarriedFiles others = carried_files_in(disk, *folder, read);
  for (const auto& [name, contents] : others.contents) files[carried + name] = contents;
  if (!others.too_large.empty())
    log::info("{}: too large to go into checkpoints and exports: {}", *folder,
              fmt::join(others.too_large, ", "));
}

}  // namespace

TokenizerFiles tokenizer_files_of(const Disk& disk, const JobConfig& job, const FamilyModel* model) {
  TokenizerFiles files;
  if (const auto folder = tokenizer_folder(job)) files = tokenizer_files_in(disk, *folder);
  if (const auto text = text_tokens_of(job)) {
    const bool pieces = std::filesystem::path(text->tokenizer).extension() == ".model";
    files[pieces ? pieces_name : vocabulary_name] = read_text(disk, text->tokenizer, bytes_max);
  }
  const auto is_there = [&](const char* name) { return files.contains(name); };
  if (std::ranges::none_of(std::array{vocabulary_name, pieces_name, "vocab.json"}, is_there)) {
    files = {};
    add_files_of_model(disk, job, files);
    return files;
  }
  const std::optional<TextTokenizer> of_texts = text_tokenizer_of(job);
  SpecialTokens tokens;
  const Json generation = generation_of(disk, job, model, of_texts, files, tokens);
  if (!generation.empty()) files[generation_name] = json_text(generation, 2) + "\n";
  const auto given = files.find(settings_name);
  Json settings = given == files.end() ? new_settings(model, files) : object_in(given->second, settings_name);
  name_tokens(settings, of_texts, tokens);
  if (const auto text = used_template(job.data)) {
    files[template_name] = *text;
    settings.erase("chat_template");
  }
  files[settings_name] = json_text(settings, 2) + "\n";
  add_files_of_model(disk, job, files);
  return files;
}

TokenizerFiles tokenizer_files_in(const Disk& disk, const std::string& directory) {
  TokenizerFiles files;
  if (!disk.exists(directory)) return files;
  for (const char* name : names) {
    const std::string path = join_path(directory, name);
    if (disk.exists(path)) files[name] = read_text(disk, path, bytes_max);
  }
  for (const DirectoryEntry& entry : disk.list(directory)) {
    if (!entry.is_directory && (is_flat_template(entry.name) || entry.name.starts_with(carried)))
      files[entry.name] = read_text(disk, join_path(directory, entry.name), bytes_max);
  }
  const std::string templates = join_path(directory, chat_templates_folder);
  if (!disk.exists(templates)) return files;
  for (const DirectoryEntry& entry : disk.list(templates)) {
    if (entry.is_directory || !entry.name.ends_with(template_ending)) continue;
    files[flat_templates + entry.name] = read_text(disk, join_path(templates, entry.name), bytes_max);
  }
  return files;
}

std::vector<ManifestFile> write_tokenizer_files(Disk& disk, const std::string& directory,
                                                const TokenizerFiles& files) {
  if (files.empty()) return {};
  disk.make_directories(directory);
  for (const char* name : names) {
    if (!files.contains(name)) disk.remove_all(join_path(directory, name));
  }
  std::vector<ManifestFile> written;
  for (const auto& [name, contents] : files) {
    write_text(disk, join_path(directory, name), contents);
    written.push_back({name, contents.size(), checksum_of(contents)});
  }
  return written;
}

void add_tokenizer_files(Disk& disk, const std::string& directory, const TokenizerFiles& files) {
  const std::string templates = join_path(directory, chat_templates_folder);
  const auto is_template = [](const auto& file) { return is_flat_template(file.first); };
  if (std::ranges::any_of(files, is_template)) disk.make_directories(templates);
  for (const auto& [name, contents] : files) {
    std::string path = join_path(directory, name);
    if (is_flat_template(name)) path = join_path(templates, name.substr(flat_templates.size()));
    if (name.starts_with(carried)) path = join_path(directory, name.substr(carried.size()));
    write_text(disk, path, contents);
  }
}

SpecialTokens special_tokens_in(const Disk& disk, const std::string& directory) {
  const std::string path = join_path(directory, generation_name);
  if (!disk.exists(path)) return {};
  return special_tokens_of(object_in(read_text(disk, path, bytes_max), path));
}

}  // namespace d9d
