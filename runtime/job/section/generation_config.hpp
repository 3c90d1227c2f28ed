#pragma once
// Section `task` of an inference job that makes texts.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/job/section/result_format.hpp"

namespace d9d {

struct GenerationConfig {
  std::int64_t max_new_tokens = 0;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double repetition_penalty = 1.0;
  std::vector<std::int64_t> stop_tokens;
  std::vector<std::string> stop_texts;
  std::optional<std::int64_t> padding_id;
  ResultFormat results = ResultFormat::jsonl;
};
BOOST_DESCRIBE_STRUCT(GenerationConfig, (),
                      (max_new_tokens, temperature, top_k, top_p, repetition_penalty, stop_tokens, stop_texts,
                       padding_id, results))

constexpr auto keys_of(config::Tag<GenerationConfig>) {
  using namespace config;
  return std::array{
      Key{"max_new_tokens", "", "new tokens of a text at most", required, at_least(1)},
      Key{"temperature", "", "of the logits; 0: the most likely token", optional, at_least(0)},
      Key{"top_k", "", "choose among so many most likely tokens; 0: all", optional, at_least(0)},
      Key{"top_p", "", "choose among the most likely tokens that have this share; 1: all"},
      Key{"repetition_penalty", "",
          "divides the logits, where positive, of tokens that prompt or text have already, and multiplies "
          "negative ones; 1: none"},
      Key{"stop_tokens", "", "ids that end a text beside the model's own"},
      Key{"stop_texts", "",
          "texts that end a text after them, whichever tokens they are made of; the model's tokenizer finds "
          "them"},
      Key{"padding_id", "",
          "at the end of a sample: no part of the prompt; null: all tokens are, but for what fills up "
          "data.source: prompts"},
      results_key,
  };
}

}  // namespace d9d
