#pragma once
// The section `data` of a job: where samples come from. Plain structs; `source` names the alternative.
// build_source.hpp makes the source.

#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/mixture_data_config.hpp"
#include "runtime/data/config/prompts_data_config.hpp"

namespace d9d {

using DataConfig =
    std::variant<SyntheticDataConfig, TextDataConfig, TokensDataConfig, MegatronDataConfig, ChatDataConfig,
                 TokenListsDataConfig, PromptsDataConfig, MixtureDataConfig, OwnDataConfig>;
constexpr auto choices_of(config::Tag<DataConfig>) {
  return config::Choices<8>{"source",
                            {{{"synthetic", "endless made-up sequences, the same on every machine"},
                              {"text", "files of text, tokenised and packed"},
                              {"tokens", "an array of token ids"},
                              {"megatron", "documents of token ids in Megatron's .bin and .idx"},
                              {"chat", "conversations, of which what the model is to say counts in the loss"},
                              {"token_lists", "lists of token ids in Arrow, Parquet or JSONL files"},
                              {"prompts", "prompts that the task generation goes on with, one a line"},
                              {"mixture", "several sources by weight"}}}};
}

}  // namespace d9d
