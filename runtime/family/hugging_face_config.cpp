#include "runtime/family/hugging_face_config.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/model_index.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"

namespace d9d {
namespace {

using nlohmann::json;

// "LLaMAForCausalLM" of the family llama, "DeepseekV3ForCausalLM" of deepseek_v3.
std::string simplified(std::string_view name) {
  std::string simple;
  for (const unsigned char c : name)
    if (c != '_') simple += static_cast<char>(std::tolower(c));
  return simple;
}

// What to do about a model_type that is not a family's, by the name of its class; else "".
std::string hint_for(const JsonReader& in) {
  const json* const list = in.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) return "";
  const std::string given = list->front().get<std::string>();
  for (const Family* family : families()) {
    if (simplified(given) == simplified(family->name()) + "forcausallm")
      return fmt::format("its architecture {} is {} under another name: set model_type to {}", given,
                         family->name(), family->name());
  }
  return "";
}

// Of a multimodal model whose text_config does not say it; "" where it has to.
std::string usual_text_model(std::string_view multimodal) {
  for (const Family* family : families()) {
    const auto types = family->multimodal_types();
    if (std::find(types.begin(), types.end(), multimodal) != types.end()) return std::string(family->name());
  }
  return "";
}

const Family& family_of(const JsonReader& in) {
  const std::string type = in.text("model_type", "");
  const Family* const family = find_family(type);
  if (family != nullptr) return *family;
  std::vector<std::string_view> names;
  for (const Family* known : families()) names.push_back(known->name());
  const json* const text = in.find("text_config");
  const std::string inner =
      text != nullptr && text->is_object() && text->contains("model_type")
          ? fmt::format(" with a text model of the type {}", json_text((*text)["model_type"]))
          : "";
  const std::string hint = hint_for(in);
  throw Error(ErrorKind::input,
              fmt::format("{}: model_type is '{}'{}, expected one of {}; {}", in.where(), type, inner,
                          fmt::join(names, ", "), hint.empty() ? "other families are not supported" : hint));
}

// Python writes Infinity, -Infinity and NaN, which are no JSON. Returns the first one outside strings, or "".
std::string_view python_number(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const std::string_view word : {"Infinity", "NaN"})
        if (text.substr(i).starts_with(word)) return word;
    }
  }
  return "";
}

// Families whose layers turn in two ways have settings of each layer type; transformers 5 leaves others aside and
// turns plainly. In a job, and in rope_scaling, settings without a layer type are those of full attention.
void refuse_flat_rope(std::string_view text, const FamilyModel& model, const std::string& where) {
  json document = try_parse_json<json>(text);
  take_text_model(document);
  const json given = document.value("rope_parameters", json());
  if (!given.is_object() || given.contains("full_attention") || given.contains("sliding_attention")) return;
  for (const auto& [key, value] : given.items()) {
    const bool plain = (key == "rope_type" || key == "type") && value == "default";
    if (plain || value.is_null()) continue;
    const json::json_pointer of_full("/rope_parameters/full_attention");
    D9D_REQUIRE(
        !parse_json<json>(model.config_json()).contains(of_full),
        "{}: rope_parameters says {} = {} without a layer type, which transformers does not read in this "
        "family; put it under full_attention (theta of layers with a window: sliding_attention)",
        where, key, json_text(value));
    return;
  }
}

// Whether head and embedding are one tensor is said of a multimodal model as a whole. These classes of transformers
// 5.23 say yes where the key is not there, whatever text_config says.
constexpr std::array<std::string_view, 24> tied_unless_said{"aya_vision",
                                                            "cohere2_vision",
                                                            "deepseek_vl",
                                                            "deepseek_vl_hybrid",
                                                            "gemma3",
                                                            "glmasr",
                                                            "got_ocr2",
                                                            "granite_speech",
                                                            "granite_speech_plus",
                                                            "hyperclovax_vision_v2",
                                                            "internvl",
                                                            "janus",
                                                            "kimi_k25",
                                                            "lfm2_vl",
                                                            "lfm3_vl",
                                                            "lighton_ocr",
                                                            "minicpm_ocr",
                                                            "mistral3",
                                                            "moss_transcribe_diarize",
                                                            "ovis2",
                                                            "paligemma",
                                                            "pp_chart2table",
                                                            "voxtral_realtime",
                                                            "florence2"};
// These say no.
constexpr std::array<std::string_view, 14> apart_unless_said{
    "cosmos3_omni", "exaone4_5",   "fuyu",    "glm46v",      "idefics2", "idefics3", "llava_next",
    "minicpmv4_6",  "qianfan_ocr", "smolvlm", "video_llava", "vipllava", "glmga",    "minicpmv4_7"};
// Here it is one tensor where either of the two configs says so.
constexpr std::array<std::string_view, 6> tied_by_either{
    "fast_vlm", "llava", "llava_next_video", "llava_onevision", "shieldgemma2", "video_llama_3"};

template <class Names>
bool has_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether a folder's weights have a head of their own.
bool stores_head(const std::filesystem::path& folder) {
  const PosixDisk disk;
  const auto is_head = [](const std::string& name) {
    return name == head_table || name.ends_with(".lm_head.weight");
  };
  try {
    if (folder.empty() || !holds_model_state(disk, folder.string())) return false;
    const auto map = read_weight_map(disk, folder.string());
    if (map)
      return std::any_of(map->begin(), map->end(), [&](const auto& entry) { return is_head(entry.first); });
    const auto names = SafetensorsReader(disk, join_path(folder.string(), model_single_name)).names();
    return std::any_of(names.begin(), names.end(), is_head);
  } catch (const Error&) {
    return false;  // whoever reads the weights says what is wrong
  }
}

// As transformers 5.23 decides; it ties no head that the folder stores with values of its own.
void settle_tied_head(const json& document, std::string_view outer, const std::filesystem::path& folder,
                      json& text) {
  constexpr const char* key = "tie_word_embeddings";
  const bool is_said = document.contains(key), is_true = is_said && document[key] == json(true);
  if (outer == "vibevoice") return;  // text_config alone says it
  if (has_name(tied_by_either, outer)) {
    if (is_true) text[key] = true;
  } else if (is_said) {
    text[key] = document[key];
  } else if (has_name(tied_unless_said, outer)) {
    text[key] = !stores_head(folder);
  } else if (has_name(apart_unless_said, outer)) {
    text[key] = false;
  }
}

std::shared_ptr<FamilyModel> parsed(std::string_view text, const std::string& where,
                                    const std::filesystem::path& folder) {
  require_no_byte_order_mark(text, where);
  json document = try_parse_json<json>(text);
  const std::string_view number = document.is_discarded() ? python_number(text) : "";
  D9D_REQUIRE(number.empty(),
              "{}: holds {}, which Python writes and JSON does not know; remove the key if it is none of the "
              "model's (time_step_limit), or write a finite number",
              where, number);
  D9D_REQUIRE(document.is_object(), "{}: not a JSON object; expected the config.json of a Hugging Face model",
              where);
  take_text_model(document, folder);
  const JsonReader in(document, where);
  return family_of(in).read(in);
}

}  // namespace

std::shared_ptr<FamilyModel> parse_hugging_face_config(std::string_view text, const std::string& where) {
  return parsed(text, where, {});
}

bool take_text_model(json& document, const std::filesystem::path& folder) {
  const auto found = document.find("text_config");
  if (found == document.end() || !found->is_object()) return false;
  const auto text_of = [](const json& config, const char* key) {
    const auto value = config.find(key);
    return value != config.end() && value->is_string() ? value->get<std::string>() : "";
  };
  const std::string outer = text_of(document, "model_type");
  if (find_family(outer) != nullptr) return false;
  json text = *found;
  if (!text.contains("model_type")) text["model_type"] = usual_text_model(outer);
  if (find_family(text_of(text, "model_type")) == nullptr) return false;
  text.erase("architectures");  // those of its body alone, where there are any
  if (!text.contains("dtype") && !text.contains("torch_dtype"))
    for (const char* key : {"dtype", "torch_dtype"})
      if (document.contains(key)) text[key] = document[key];
  for (const char* key : {"pad_token_id", "quantization_config"})
    if (!text.contains(key) && document.contains(key)) text[key] = document[key];
  // The head is the whole model's, and so is where its texts end.
  for (const char* key : {"bos_token_id", "eos_token_id"})
    if (document.contains(key)) text[key] = document[key];
  settle_tied_head(document, outer, folder, text);
  document = std::move(text);
  return true;
}

std::shared_ptr<FamilyModel> read_hugging_face_config(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  // A named pipe would be waited for.
  std::error_code ignored;
  D9D_REQUIRE(!std::filesystem::exists(file, ignored) || std::filesystem::is_regular_file(file, ignored),
              "{} is not a regular file; give the config.json of a Hugging Face model", file.string());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw Error(
        ErrorKind::environment,
        fmt::format("cannot read {}; expected the config.json of a Hugging Face model", file.string()));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  auto model = parsed(text.str(), file.string(), file.parent_path());
  refuse_flat_rope(text.str(), *model, file.string());
  return model;
}

}  // namespace d9d
