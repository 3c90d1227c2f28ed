#include "runtime/family/folder/folder_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

constexpr std::string_view body = "model.";

// Modules that wrap another one at any depth.
constexpr std::array<std::string_view, 4> wrappers{"_orig_mod.", "_fsdp_wrapped_module.",
                                                   "_checkpoint_wrapped_module.", "_forward_module."};
// Wrappers of a whole model: all of its names begin so.
constexpr std::array<std::string_view, 2> outer_wrappers{"module.", "base_model.model."};
// Where the text part's body may stand in a multimodal model.
constexpr std::array<std::string_view, 4> text_bodies{"model.language_model.model.", "model.language_model.",
                                                      "language_model.model.", "language_model."};

std::string without_wrappers(std::string name) {
  for (const std::string_view wrapper : wrappers) {
    for (auto at = name.find(wrapper); at != std::string::npos; at = name.find(wrapper, at)) {
      if (at == 0 || name[at - 1] == '.')
        name.erase(at, wrapper.size());
      else
        ++at;
    }
  }
  return name;
}

using Spelled = std::map<std::string, std::string>;  // stored -> so far

bool all_begin(const Spelled& names, std::string_view prefix) {
  return !names.empty() && std::all_of(names.begin(), names.end(),
                                       [&](const auto& entry) { return entry.second.starts_with(prefix); });
}

bool some_begin(const Spelled& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& entry) { return entry.second.starts_with(prefix); });
}

bool some_of(const Names& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

bool has_body(const Spelled& names, std::string_view prefix) {
  return some_begin(names, std::string(prefix) + "layers.") ||
         some_begin(names, std::string(prefix) + "embed_tokens.");
}

// What encoders call the vocabulary and heads of decoders, with the body in front.
constexpr const char* encoder_embedding = "model.embeddings.tok_embeddings.";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> encoder_modules{
    {{encoder_embedding, "model.embed_tokens."}, {"decoder.", "lm_head."}, {"classifier.", "score."}}};

std::string decoders_name(const std::string& name) {
  for (const auto& [encoder, decoder] : encoder_modules) {
    if (name.starts_with(encoder)) return std::string(decoder) + name.substr(encoder.size());
  }
  return name;
}

// Names of the body where it stands without `model.`.
bool is_of_body(std::string_view name) {
  constexpr std::array<std::string_view, 6> modules{"layers.",     "embed_tokens.", "norm.",
                                                    "rotary_emb.", "embeddings.",   "final_norm."};
  return std::any_of(modules.begin(), modules.end(),
                     [&](std::string_view module) { return name.starts_with(module); });
}

}  // namespace

FolderNames::FolderNames(const Names& stored, bool tied) {
  Spelled names;
  for (const std::string& name : stored) names[name] = without_wrappers(name);
  for (const std::string_view wrapper : outer_wrappers) {
    if (!all_begin(names, wrapper)) continue;
    for (auto& [was, name] : names) name.erase(0, wrapper.size());
  }
  if (has_body(names, "")) before_body_.clear();
  if (!before_body_.empty() && !has_body(names, body)) {
    const auto text = std::find_if(text_bodies.begin(), text_bodies.end(),
                                   [&](std::string_view prefix) { return has_body(names, prefix); });
    if (text != text_bodies.end()) before_body_ = *text;
  }
  const bool in_multimodal = !before_body_.empty() && before_body_ != body;
  for (const auto& [was, name] : names) {
    if (before_body_.empty() && is_of_body(name)) {
      add(was, std::string(body) + name);
    } else if (in_multimodal && name.starts_with(before_body_)) {
      add(was, std::string(body) + name.substr(before_body_.size()));
    } else if (in_multimodal && name.starts_with("language_model.lm_head.")) {
      add(was, name.substr(std::string_view("language_model.").size()));
    } else if (in_multimodal && !name.starts_with("lm_head.") && !name.starts_with("score.")) {
      others_.insert(was);
    } else {
      add(was, name);
    }
  }
  if (some_of(names_, encoder_embedding)) {
    for (const std::string& name : Names(names_)) call_instead(name, decoders_name(name));
  }
  if (tied && !names_.contains(embedding_table) && names_.contains(head_table))
    call_instead(head_table, embedding_table);
}

void FolderNames::add(const std::string& stored, std::string name) {
  if (!names_.insert(name).second) return;
  if (stored != name) stored_.emplace(std::move(name), stored);
}

void FolderNames::call_instead(const std::string& name, std::string other) {
  if (name == other) return;
  const std::string stored = in_folder(name);
  names_.erase(name);
  stored_.erase(name);
  add(stored, std::move(other));
}

std::string FolderNames::in_folder(const std::string& name) const {
  const auto found = stored_.find(name);
  if (found != stored_.end()) return found->second;
  if (names_.contains(name) || !name.starts_with(body)) return name;
  return before_body_ + name.substr(body.size());
}

MapperPtr respelled(const MapperPtr& mapper, const FolderNames& folder) {
  std::vector<MapperPtr> renames;
  for (const std::string& name : inputs_of(*mapper)) {
    std::string spelled = folder.in_folder(name);
    if (spelled != name) renames.push_back(rename(spelled, name));
  }
  return renames.empty() ? mapper : sequential({parallel(std::move(renames)), mapper});
}

}  // namespace d9d
