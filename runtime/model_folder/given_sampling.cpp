#include "runtime/model_folder/given_sampling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using GenerationJson = nlohmann::json;

constexpr std::uint64_t generation_bytes_max = 1 << 20;
constexpr double temperature_unsaid = 1.0;
constexpr std::int64_t top_k_unsaid = 50;
constexpr double top_p_unsaid = 1.0;

// Keys that change what is chosen, and the value that changes nothing.
const std::array<std::pair<const char*, GenerationJson>, 10>& not_done() {
  static const std::array<std::pair<const char*, GenerationJson>, 10> keys{
      {{"no_repeat_ngram_size", 0},
       {"encoder_repetition_penalty", 1.0},
       {"min_p", 0.0},
       {"typical_p", 1.0},
       {"epsilon_cutoff", 0.0},
       {"eta_cutoff", 0.0},
       {"num_beams", 1},
       {"suppress_tokens", nullptr},
       {"bad_words_ids", nullptr},
       {"stop_strings", nullptr}}};
  return keys;
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
    if (found == json.end() || found->is_null() || *found == without_effect) continue;
    names.push_back(fmt::format("{} = {}", key, found->dump()));
  }
  if (!names.empty())
    given.words.push_back(
        fmt::format("{} asks for {}, which is not done here", path, fmt::join(names, ", ")));
}

}  // namespace

GivenSampling sampling_in(const Disk& disk, const std::string& directory) {
  GivenSampling given;
  const std::string path = join_path(directory, "generation_config.json");
  if (!disk.exists(path)) return given;
  const GenerationJson json =
      GenerationJson::parse(read_text(disk, path, generation_bytes_max), nullptr, false);
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
