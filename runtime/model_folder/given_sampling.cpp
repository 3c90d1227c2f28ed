#include "runtime/model_folder/given_sampling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

using GenerationJson = nlohmann::json;

constexpr std::uint64_t generation_bytes_max = 1 << 20;
constexpr double temperature_unsaid = 1.0;
constexpr std::int64_t top_k_unsaid = 50;
constexpr double top_p_unsaid = 1.0;

// Keys of transformers' GenerationConfig that change the ids of a text, and the value that changes nothing. null,
// an empty list and an empty object change nothing either.
const std::vector<std::pair<const char*, GenerationJson>>& not_done() {
  static const std::vector<std::pair<const char*, GenerationJson>> keys{
      {"no_repeat_ngram_size", 0},
      {"encoder_no_repeat_ngram_size", 0},
      {"encoder_repetition_penalty", 1.0},
      {"min_length", 0},
      {"min_new_tokens", 0},
      {"max_time", nullptr},
      {"min_p", 0.0},
      {"top_h", nullptr},
      {"typical_p", 1.0},
      {"epsilon_cutoff", 0.0},
      {"eta_cutoff", 0.0},
      {"num_beams", 1},
      {"num_beam_groups", 1},
      {"diversity_penalty", 0.0},
      {"constraints", nullptr},
      {"force_words_ids", nullptr},
      {"penalty_alpha", 0.0},
      {"dola_layers", nullptr},
      {"guidance_scale", 1.0},
      {"forced_bos_token_id", nullptr},
      {"forced_eos_token_id", nullptr},
      {"exponential_decay_length_penalty", nullptr},
      {"suppress_tokens", nullptr},
      {"begin_suppress_tokens", nullptr},
      {"bad_words_ids", nullptr},
      {"sequence_bias", nullptr},
      {"watermarking_config", nullptr},
      {"token_healing", false},
      {"remove_invalid_values", false},
      {"stop_strings", nullptr}};
  return keys;
}

bool has_effect(const GenerationJson& value, const GenerationJson& without_effect) {
  const bool is_empty = (value.is_array() || value.is_object()) && value.empty();
  return !value.is_null() && !is_empty && value != without_effect;
}

double number_in(const GenerationJson& json, const char* key, double otherwise, const std::string& path) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  D9D_REQUIRE(found->is_number(), "{}: {} is {}, expected a number", path, key, found->dump());
  return found->get<double>();
}

void name_what_is_not_done(const GenerationJson& json, const std::string& path, GivenSampling& given) {
  std::vector<std::string> names;
  for (const auto& [key, without_effect] : not_done()) {
    const auto found = json.find(key);
    if (found == json.end() || !has_effect(*found, without_effect)) continue;
    names.push_back(fmt::format("{} = {}", key, found->dump()));
  }
  // Rounds the keys and values that are kept, and so changes what is computed with them.
  if (json.value("cache_implementation", GenerationJson()) == "quantized")
    names.emplace_back("cache_implementation = \"quantized\"");
  if (!names.empty())
    given.words.push_back(
        fmt::format("{} asks for {}, which is not done here", path, fmt::join(names, ", ")));
}

}  // namespace

GivenSampling sampling_in(const Disk& disk, const std::string& directory) {
  GivenSampling given;
  const std::string path = join_path(directory, "generation_config.json");
  if (!disk.exists(path)) return given;
  const GenerationJson json = try_parse_json<GenerationJson>(read_text(disk, path, generation_bytes_max));
  D9D_REQUIRE(json.is_object(), "{} is not a JSON object; mend the file or remove it", path);
  name_what_is_not_done(json, path, given);
  given.repetition_penalty = number_in(json, "repetition_penalty", 1.0, path);
  D9D_REQUIRE(*given.repetition_penalty > 0, "{}: repetition_penalty is {}, expected a number above 0", path,
              *given.repetition_penalty);
  const auto samples = json.find("do_sample");
  if (samples == json.end() || samples->is_null()) return given;
  D9D_REQUIRE(samples->is_boolean(), "{}: do_sample is {}, expected true or false", path, samples->dump());
  if (!samples->get<bool>()) {
    given.temperature = 0;
    return given;
  }
  given.temperature = number_in(json, "temperature", temperature_unsaid, path);
  given.top_k = static_cast<std::int64_t>(number_in(json, "top_k", top_k_unsaid, path));
  given.top_p = number_in(json, "top_p", top_p_unsaid, path);
  return given;
}

}  // namespace d9d
