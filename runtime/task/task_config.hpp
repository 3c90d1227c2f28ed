#pragma once
// Section `task`.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <variant>

#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/task/generation_config.hpp"

namespace d9d {

struct CausalLmConfig {};
BOOST_DESCRIBE_STRUCT(CausalLmConfig, (), ())
constexpr auto keys_of(config::Tag<CausalLmConfig>) {
  return std::array<config::Key, 0>{};
}

struct ClassificationConfig {};
BOOST_DESCRIBE_STRUCT(ClassificationConfig, (), ())
constexpr auto keys_of(config::Tag<ClassificationConfig>) {
  return std::array<config::Key, 0>{};
}

enum class VectorFormat { jsonl, safetensors };
BOOST_DESCRIBE_ENUM(VectorFormat, jsonl, safetensors)

struct EmbeddingConfig {
  VectorFormat results = VectorFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(EmbeddingConfig, (), (results))
constexpr auto keys_of(config::Tag<EmbeddingConfig>) {
  return std::array{config::Key{
      "results", "",
      "jsonl: a line for each vector; safetensors: files with `samples` [n] and `embeddings` [n, D], and "
      "`documents` [n] of packed rows"}};
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
