#include "runtime/data/chat/prompt_writer.hpp"

#include <utility>

namespace d9d {

PromptWriter::PromptWriter(TemplateUse use) : use_(std::move(use)) {}

PromptWriter::~PromptWriter() = default;

std::string PromptWriter::of_messages(const RowJson& messages, const RowJson& row, const std::string& where) {
  if (!renderer_) renderer_ = start_renderer(use_);
  const Conversation conversation = read_prompt_messages(messages, row, where);
  unread_.add_of_conversation(conversation.messages, conversation.tools, conversation.documents,
                              [&](std::string_view name) { return renderer_->reads(name); });
  renderer_->ask(prompt_request(conversation), where);
  return renderer_->take().text;
}

std::string PromptWriter::of_text(const std::string& text, const std::string& where) {
  return of_messages(RowJson::array({{{"role", "user"}, {"content", text}}}), RowJson::object(), where);
}

}  // namespace d9d
