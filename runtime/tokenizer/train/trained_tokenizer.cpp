#include "runtime/tokenizer/train/trained_tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

using Json = nlohmann::ordered_json;

Json added_tokens(const std::vector<std::string>& special_tokens) {
  Json added = Json::array();
  std::set<std::string> seen;
  for (const std::string& token : special_tokens) {
    if (!seen.insert(token).second) continue;
    added.push_back({{"id", added.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return added;
}

Json model_of(const TrainedBpe& trained) {
  Json vocab = Json::object(), merges = Json::array();
  // Not through operator[], which looks for the key in all of those before.
  auto& entries = vocab.get_ref<Json::object_t&>();
  for (std::size_t id = 0; id < trained.tokens.size(); ++id)
    entries.Container::push_back({trained.tokens[id], id});
  for (const auto& [first, second] : trained.merges)
    merges.push_back({trained.tokens[first], trained.tokens[second]});
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

std::string tokenizer_json(const TrainedBpe& trained, const std::vector<std::string>& special_tokens) {
  const Json file{{"version", "1.0"},          {"truncation", nullptr},
                  {"padding", nullptr},        {"added_tokens", added_tokens(special_tokens)},
                  {"normalizer", nullptr},     {"pre_tokenizer", byte_level(false)},
                  {"post_processor", nullptr}, {"decoder", byte_level(true)},
                  {"model", model_of(trained)}};
  return json_text(file, 2);
}

}  // namespace d9d
