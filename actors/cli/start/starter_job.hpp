#pragma once
// The job file that `d9d-node init` writes: at most 25 lines, with a word where a choice was made.

#include <optional>
#include <string>
#include <vector>

#include "actors/cli/start/model_size.hpp"
#include "runtime/data/config/text_data_config.hpp"

namespace d9d {

struct StarterModel {  // to fine-tune
  std::string folder;
  std::int64_t parameters = 0;
};

struct StarterJob {
  std::string name;     // of the run, and of its folder
  std::string command;  // the words that asked for it
  std::string family;   // model_provider.name
  std::vector<std::string> files;
  StartPlan plan;
  double minutes = 0;                 // that it is about to take
  std::optional<StarterModel> model;  // none: from scratch
  bool is_chat = false;
  bool has_template = true;  // of a chat model's tokenizer
  std::string tokenizer;     // from scratch: its file
  std::optional<std::string> eos_token;
  std::optional<DocumentUnit> document;   // none: the files are rows
  std::optional<std::string> text_field;  // where it is not "text"
};

std::string yaml_of(const StarterJob& job);

}  // namespace d9d
