#pragma once
// Section `task`.

#include <boost/describe/class.hpp>

#include <array>
#include <variant>

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

struct EmbeddingConfig {
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(EmbeddingConfig, (), (results))
constexpr auto keys_of(config::Tag<EmbeddingConfig>) {
  return std::array{results_key};
}

using TaskConfig =
    std::variant<CausalLmConfig, ClassificationConfig, EmbeddingConfig, GenerationConfig, config::Named>;
constexpr auto choices_of(config::Tag<TaskConfig>) {
  return config::Choices<4>{
      "name",
      {{{"causal_lm", "Next-token prediction: the mean cross entropy of the tokens that count."},
        {"classification",
         "The class of each token whose label is not -100, by a model with `head: {kind: "
         "classification}`."},
        {"embedding",
         "Of inference: the vector of each sample's last token, by a model with `head: {kind: "
         "embedding}`."},
        {"generation",
         "Texts that go on from each sample, in a job with the section `inference` and a model with "
         "logits."}}}};
}

}  // namespace d9d
