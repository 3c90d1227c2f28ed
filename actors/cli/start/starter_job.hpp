#pragma once
// The job file that `d9d-node init` writes: at most 25 lines, with a comment at each choice.

#include <optional>
#include <string>
#include <vector>

#include "actors/cli/start/model_size.hpp"
#include "runtime/data/config/text_data_config.hpp"

namespace d9d {

struct StarterModel {  // the model to fine-tune
  std::string folder;
  std::int64_t parameters = 0;
  // What of it trains: adapters that peft reads, too; adapters; all weights.
  enum class Trains { peft_adapters, adapters, all } trains = Trains::peft_adapters;
  std::optional<std::int64_t> mask_token_id = {};  // of an encoder, which learns words that are left out
};

struct StarterJob {
  std::string name;                       // of the run, and of its folder
  std::string command;                    // the command line that asked for the file
  std::string family;                     // model_provider.name
  std::vector<std::string> plugins = {};  // that bring the family
  std::vector<std::string> files;
  StartPlan plan;
  double minutes = 0;                 // about how long it takes
  std::optional<StarterModel> model;  // none: from scratch
  bool is_chat = false;
  bool has_template = true;  // whether a chat model's tokenizer has a template
  std::string tokenizer;     // its file, if the model starts from scratch
  std::optional<std::string> bos_token;  // before each text or conversation
  std::optional<std::string> eos_token;
  std::optional<DocumentUnit> document;   // none: the files are rows
  std::optional<std::string> text_field;  // if it is not "text"
};

std::string yaml_of(const StarterJob& job);

}  // namespace d9d
