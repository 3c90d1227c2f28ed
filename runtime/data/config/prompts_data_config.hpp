#pragma once
// The keys of `data` with `source: prompts`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/epochs.hpp"
#include "runtime/data/config/row_choice_config.hpp"
#include "runtime/data/config/sample_order_config.hpp"
#include "runtime/data/config/template_keys.hpp"

namespace d9d {

struct PromptsDataConfig {
  std::vector<std::string> files;
  std::string tokenizer;  // empty in the file: that of the model's folder
  std::int64_t sequence_length = 0;
  std::string text_field = "prompt";
  std::optional<std::string> chat_template;
  std::map<std::string, nlohmann::json> template_arguments;
  std::optional<std::string> template_date;
  std::optional<std::string> tools;
  Epochs epochs;
  SampleOrder order;
  std::optional<std::int64_t> max_samples;
};
BOOST_DESCRIBE_STRUCT(PromptsDataConfig, (),
                      (files, tokenizer, sequence_length, text_field, chat_template, template_arguments,
                       template_date, tools, epochs, order, max_samples))
constexpr auto keys_of(config::Tag<PromptsDataConfig>) {
  using config::Key;
  constexpr std::array own{
      Key{"files", "",
          "files or patterns, read in this order: a prompt a line, empty lines left out; of files that end "
          "in .jsonl a JSON object a line, in .json an array of them, in .csv, .tsv, .parquet and .arrow a "
          "row; packed ones (gz, zst, bz2, xz) too. A prompt gets what the tokenizer puts around a text (a "
          "begin of text, as in transformers), unless it begins with it",
          config::required},
      data_keys::tokenizer,
      Key{"sequence_length", "tokens", "room for the longest prompt", config::required, config::at_least(1)},
      Key{"text_field", "",
          "of rows: the key (column) of the prompt, a text or a list of messages {role: ..., content: ...}, "
          "which the tokenizer's chat template writes up to where the answer begins; rows without the key "
          "may have \"messages\""},
  };
  using namespace data_keys;
  return config::join(
      own, std::array{chat_template, template_arguments, template_date, tools, epochs, order, max_samples});
}

}  // namespace d9d
