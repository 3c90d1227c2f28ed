#pragma once
// The tokenizer of a job whose texts name none: that of the folder which the model comes from. No file is
// read here, only looked for.

#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

// The folder of the job's weights, else the one that describes its model.
std::optional<std::string> model_folder(const JobConfig& job);
// tokenizer.json, else tokenizer.model, of a folder; nothing where neither is there.
std::optional<std::string> tokenizer_in(const std::string& folder);
std::optional<std::string> tokenizer_of_model(const JobConfig& job);

// What the job's data says of its texts; of a mixture the first part that is text, as all have one tokenizer
// (data_rules.cpp). Nothing: the data are no texts.
struct TextTokens {
  std::string tokenizer;
  std::optional<std::string> eos_token;
  std::optional<std::string> bos_token;
};
std::optional<TextTokens> text_tokens_of(const JobConfig& job);

// Fills in the tokenizers of `data` and `evaluation.data`; an issue for each text that gets none.
std::vector<JobIssue> settle_tokenizers(JobConfig& job);

}  // namespace d9d
