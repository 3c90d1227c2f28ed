#pragma once
// Renders conversations by their tokenizer's chat template. A template is a program in the
// language Jinja. Python's library jinja2, which transformers uses too, runs it in a process of
// its own (render.py). One thread.

#include <deque>
#include <memory>
#include <optional>
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
  int seconds = 30;  // for one conversation
  std::uint64_t text_bytes = 64 << 20;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
};

struct RenderedChat {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>>
      counted;  // bytes [begin, end) of the model's answers, in order
};

class TemplateRenderer {
 public:
  // Input errors: jinja2 is not installed, the template cannot be read or compiled, a date that is
  // not YYYY-MM-DD, a file of tools that holds no JSON list.
  TemplateRenderer(ChatTemplate chat_template, const TemplateUse& use, const TemplateLimits& limits = {});
  ~TemplateRenderer();
  TemplateRenderer(const TemplateRenderer&) = delete;
  TemplateRenderer& operator=(const TemplateRenderer&) = delete;

  // Whether the template names a field of a message, or a variable, called `name`, or writes whole messages with all
  // their fields ({{ message }}).
  bool reads(std::string_view name) const;

  // Queues a conversation (the keys of its object: render.py). `where` names its row in errors.
  void ask(const RowJson& conversation, std::string where);
  std::size_t waiting() const { return asked_.size(); }
  // Returns the oldest queued conversation, rendered. Input error that begins with its row: the
  // template refuses it or does not finish, the text is too long, the template asks for today's
  // date, or the place of an answer in the text is uncertain.
  RenderedChat take();

 private:
  void start(const TemplateUse& use);
  // Starts the template in this Python; says what it lacks, if anything. Input error of the template.
  std::optional<std::string> problem_with(const std::string& python, const std::string& settings);
  [[noreturn]] void fail_without_answer(const std::string& row) const;

  const ChatTemplate template_;
  const TemplateLimits limits_;
  std::unique_ptr<AnsweringProcess> process_;
  std::set<std::string, std::less<>> names_;
  bool writes_whole_messages_ = false;
  std::deque<std::string> asked_;
};

// Makes the request for a conversation: whole, or up to where an answer begins. `marked`: the loss
// counts the parts that the template marks as the model's ({% generation %}).
RowJson render_request(const Conversation& conversation, bool marked);
RowJson prompt_request(const Conversation& conversation);

// Starts the template that `use` names, else the one in its tokenizer's folder. Input error where
// there is none; it names the ways out.
std::unique_ptr<TemplateRenderer> start_renderer(const TemplateUse& use);

}  // namespace d9d
