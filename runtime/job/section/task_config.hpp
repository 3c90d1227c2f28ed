#pragma once
// Section `task`.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/job/section/generation_config.hpp"
#include "runtime/job/section/result_format.hpp"

namespace d9d {

struct CausalLmConfig {
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(CausalLmConfig, (), (results))
constexpr auto keys_of(config::Tag<CausalLmConfig>) {
  return std::array{results_key};
}

struct ClassificationConfig {
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(ClassificationConfig, (), (results))
constexpr auto keys_of(config::Tag<ClassificationConfig>) {
  return std::array{results_key};
}

// The token whose vector is a text's.
enum class TextToken { last, first };
BOOST_DESCRIBE_ENUM(TextToken, last, first)

struct EmbeddingConfig {
  TextToken token = TextToken::last;
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(EmbeddingConfig, (), (token, results))
constexpr auto keys_of(config::Tag<EmbeddingConfig>) {
  return std::array{
      config::Key{"token", "", "the token of a text whose vector is its vector; first: for encoders"},
      results_key};
}

struct MaskedLmConfig {
  std::int64_t mask_token_id = 0;
  double mlm_probability = 0.3;
  double mask_replace_prob = 0.8;
  double random_replace_prob = 0.1;
  std::optional<std::vector<std::int64_t>> unmasked_ids;
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(MaskedLmConfig, (),
                      (mask_token_id, mlm_probability, mask_replace_prob, random_replace_prob, unmasked_ids,
                       results))
constexpr auto keys_of(config::Tag<MaskedLmConfig>) {
  using namespace config;
  return std::array{
      Key{"mask_token_id", "", "token id of the mask", required, at_least(0)},
      Key{"mlm_probability", "", "share of the tokens that are left out", optional, within(0, 1)},
      Key{"mask_replace_prob", "", "share of these that become the mask", optional, within(0, 1)},
      Key{"random_replace_prob", "", "share of these that become any word; the others stay as they are",
          optional, within(0, 1)},
      Key{"unmasked_ids", "",
          "token ids that are never left out; null: pad_token_id, bos_token_id and eos_token_id of the model",
          optional, at_least(0)},
      results_key};
}

using TaskConfig = std::variant<CausalLmConfig, ClassificationConfig, EmbeddingConfig, GenerationConfig,
                                MaskedLmConfig, config::Named>;
constexpr auto choices_of(config::Tag<TaskConfig>) {
  return config::Choices<5>{
      "name",
      {{{"causal_lm", "Next-token prediction: the mean cross entropy of the tokens that count."},
        {"classification",
         "The class of each token whose label is not -100, by a model with `head: {kind: classification}`."},
        {"embedding",
         "Of inference: the vector of each sample's last or first token, by a model with `head: {kind: "
         "embedding}`. Samples of texts hold all their tokens; what is longer than a sample has a vector for "
         "each."},
        {"generation",
         "Texts that go on from each sample, in a job with the section `inference` and a model with logits."},
        {"masked_lm",
         "Words that are left out of a text, by a model whose tokens see those on both sides: the mean "
         "cross entropy of these. Seed and number of a sample choose them."}}}};
}

}  // namespace d9d
