#pragma once
// Writes conversations as text up to where the model's answer begins.

#include <memory>
#include <string>

#include "runtime/data/chat/template_renderer.hpp"
#include "runtime/data/chat/unread_fields.hpp"

namespace d9d {

class PromptWriter {
 public:
  // The template is looked for with the first conversation.
  explicit PromptWriter(TemplateUse use);
  ~PromptWriter();

  // Writes `messages`. `row` is the object that holds them, with tools, documents
  // and system as further keys. Input errors: those of read_chat_row(),
  // start_renderer() and TemplateRenderer::take().
  std::string of_messages(const RowJson& messages, const RowJson& row, const std::string& where);
  // Writes a single message of a user.
  std::string of_text(const std::string& text, const std::string& where);
  void say_unread() const { unread_.say(); }

 private:
  const TemplateUse use_;
  std::unique_ptr<TemplateRenderer> renderer_;
  UnreadFields unread_;
};

}  // namespace d9d
