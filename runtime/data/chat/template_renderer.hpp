#pragma once
// Conversations as text, by their tokenizer's chat template. The template is a program in Jinja's language, which Python's
// library jinja2 runs (the one that transformers uses) in a process of its own: render.py. One thread.

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/chat/chat_rows.hpp"
#include "runtime/data/chat/template_files.hpp"
#include "runtime/data/config/template_keys.hpp"
#include "runtime/data/file/row_json.hpp"

namespace d9d {

class AnsweringProcess;

struct TemplateLimits {
  int seconds = 30;  // of one conversation
  std::uint64_t text_bytes = 64 << 20;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
};

struct RenderedChat {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>>
      counted;  // bytes [begin, end) of what the model is to say, in order
};

class TemplateRenderer {
 public:
  // Input errors: no jinja2, a template that cannot be read or compiled, a date or tools that are none.
  TemplateRenderer(ChatTemplate chat_template, const TemplateUse& use, const TemplateLimits& limits = {});
  ~TemplateRenderer();
  TemplateRenderer(const TemplateRenderer&) = delete;
  TemplateRenderer& operator=(const TemplateRenderer&) = delete;

  // Whether the template names such a field of a message, or such a variable.
  bool reads(std::string_view name) const;

  // A conversation to render (the keys of its object: render.py); `where` is its row, for errors.
  void ask(const RowJson& conversation, std::string where);
  std::size_t waiting() const { return asked_.size(); }
  // The oldest of those asked for. Input error that begins with its row: the template refuses it or does not finish, its
  // text is too long, it asks for today's date, or it is not certain where an answer stands in its text.
  RenderedChat take();

 private:
  void start(const TemplateUse& use);
  [[noreturn]] void fail_without_answer(const std::string& row) const;

  const ChatTemplate template_;
  const TemplateLimits limits_;
  std::unique_ptr<AnsweringProcess> process_;
  std::set<std::string, std::less<>> names_;
  std::deque<std::string> asked_;
};

// What is asked for: a conversation whole, or as far as an answer begins. `marked`: what the template itself marks as the
// model's ({% generation %}) is what counts.
RowJson render_request(const Conversation& conversation, bool marked);
RowJson prompt_request(const Conversation& conversation);

// The template that `use` names or that stands beside its tokenizer, running. Where there is none: an input error that
// names the ways out.
std::unique_ptr<TemplateRenderer> start_renderer(const TemplateUse& use);

}  // namespace d9d
