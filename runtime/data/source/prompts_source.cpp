#include "runtime/data/source/prompts_source.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/chat/prompt_writer.hpp"
#include "runtime/data/source/text/prompt_lines.hpp"
#include "runtime/data/source/text/tokenized_text.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

PromptsSource::PromptsSource(const PromptsDataConfig& config, std::optional<std::int64_t> ids_below,
                             TokenLabels labels)
    : length_(config.sequence_length), labels_(labels) {
  const Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  vocab_size_ = tokenizer.vocab_size();
  const auto scratch = tokenizer.make_scratch();
  PromptWriter writer({.tokenizer = config.tokenizer,
                       .chat_template = config.chat_template,
                       .arguments = config.template_arguments,
                       .date = config.template_date,
                       .tools = config.tools});
  const auto is_enough = [&] { return config.max_samples && std::ssize(prompts_) >= *config.max_samples; };
  const auto write = [&](const RowJson& messages, const RowJson& row, const std::string& where) {
    return is_enough() ? std::string() : writer.of_messages(messages, row, where);
  };
  for_each_prompt(config.files, config.text_field, write, [&](const PromptLine& line) {
    if (is_enough()) return;
    const auto where = [&] { return text_of(line.place); };
    std::vector<std::int32_t> ids;
    try {
      if (line.is_chat) {
        tokenizer.encode(line.text, false, *scratch, ids);
      } else {
        tokenizer.encode_prompt(line.text, *scratch, ids);
      }
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), where());
    }
    if (ids_below) require_ids_below(ids, tokenizer, where(), *ids_below);
    D9D_REQUIRE(!ids.empty(), "{}: the prompt has no tokens; give one at least", where());
    D9D_REQUIRE(std::ssize(ids) <= length_,
                "{}: the prompt has {}, data.sequence_length is {}; raise it, or shorten the prompt", where(),
                counted(std::ssize(ids), "token"), length_);
    prompts_.push_back(std::move(ids));
    places_.add(line.place);
  });
  writer.say_unread();
  D9D_REQUIRE(!prompts_.empty(), "data.files: there is no prompt in them; write one a line");
}

std::vector<RowPlace> PromptsSource::places_of(std::uint64_t index) const {
  const auto place = places_.at(index % prompts_.size());
  return place ? std::vector{*place} : std::vector<RowPlace>();
}

Sample PromptsSource::at(std::uint64_t index) const {
  const auto& ids = prompts_[index % prompts_.size()];
  const auto length = static_cast<std::size_t>(length_);
  Sample sample{{ids.begin(), ids.end()}, std::vector<std::int64_t>(length, ignored_label)};
  std::copy(ids.begin() + (labels_ == TokenLabels::next ? 1 : 0), ids.end(), sample.labels.begin());
  sample.document_starts.assign(ids.size(), 0);
  sample.document_starts.resize(length, std::ssize(ids));
  sample.input_ids.resize(length, ids.back());
  if (ids.size() < length) {
    sample.token_mask.assign(ids.size(), true);
    sample.token_mask.resize(length, false);
  }
  return sample;
}

}  // namespace d9d
