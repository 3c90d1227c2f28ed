#include "runtime/data/chat/template_renderer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>

#include "d9d_render_script.h"
#include "runtime/base/error.hpp"
#include "runtime/base/host/start_program.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/chat/answering_process.hpp"

namespace d9d {
namespace {

constexpr const char* no_date = "D9D_NO_DATE";  // of render.py
constexpr const char* system_python = "/usr/bin/python3";
constexpr std::chrono::seconds patience_with_python{60};

RowJson tools_in(const std::optional<std::string>& path) {
  if (!path) return nullptr;
  std::ifstream file(*path, std::ios::binary);
  D9D_REQUIRE(file, "data.tools: cannot read {}", *path);
  RowJson tools = try_parse_json<RowJson>(file);
  D9D_REQUIRE(tools.is_array(), "data.tools: {} is not a JSON list of tools", *path);
  return tools;
}

void require_date(const std::optional<std::string>& date) {
  if (!date) return;
  std::tm parsed{};
  const char* end = strptime(date->c_str(), "%Y-%m-%d", &parsed);
  D9D_REQUIRE(end != nullptr && *end == '\0' && date->size() == 10,
              "data.template_date = {}: no date; write YYYY-MM-DD", *date);
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

}  // namespace

TemplateRenderer::TemplateRenderer(ChatTemplate chat_template, const TemplateUse& use,
                                   const TemplateLimits& limits)
    : template_(std::move(chat_template)), limits_(limits) {
  require_date(use.date);
  start(use);
}

TemplateRenderer::~TemplateRenderer() = default;

// $D9D_PYTHON is taken as it is; a python3 of the PATH may lack what the system's own has.
void TemplateRenderer::start(const TemplateUse& use) {
  RowJson variables = template_.special_tokens;
  for (const auto& [name, value] : use.arguments) variables[name] = value;
  const auto optional_json = [](const auto& value) { return value ? RowJson(*value) : RowJson(nullptr); };
  const std::string settings = shown_json(RowJson{{"templates", template_.texts},
                                                  {"choice", optional_json(template_.choice)},
                                                  {"variables", variables},
                                                  {"tools", tools_in(use.tools)},
                                                  {"date", optional_json(use.date)},
                                                  {"today", use.today},
                                                  {"seconds", limits_.seconds},
                                                  {"bytes_max", limits_.text_bytes},
                                                  {"memory_bytes", limits_.memory_bytes}});
  std::vector<std::string> pythons{python_program()};
  if (pythons.front() == "python3") pythons.emplace_back(system_python);
  std::vector<std::string> problems;
  for (const std::string& python : pythons) {
    const auto problem = problem_with(python, settings);
    if (!problem) return;
    problems.push_back(*problem);
  }
  D9D_REQUIRE(
      false,
      "the chat template {} needs Python's library jinja2 ({}); install it (`bash .ci/deps`, apt-get install "
      "python3-jinja2, or python3 -m pip install jinja2), name the Python that has it in the variable "
      "D9D_PYTHON, or write the markers of each role in data.roles",
      template_.where, fmt::join(problems, "; "));
}

std::optional<std::string> TemplateRenderer::problem_with(const std::string& python,
                                                          const std::string& settings) {
  try {
    process_ = std::make_unique<AnsweringProcess>(std::vector<std::string>{python, "-c", render_script});
  } catch (const Error& error) {
    return error.what();
  }
  process_->say(settings);
  const auto answer = process_->answer(patience_with_python);
  if (!answer) return fmt::format("{} does not answer", python);
  const RowJson about = parse_json<RowJson>(*answer);
  D9D_REQUIRE(!about.contains("problem"), "the chat template {} cannot be used: {}", template_.where,
              about["problem"].get<std::string>());
  if (about.contains("missing")) return fmt::format("{}: {}", python, about["missing"].get<std::string>());
  for (const auto& name : about["names"]) names_.insert(name.get<std::string>());
  writes_whole_messages_ = about["whole"].get<bool>();
  return std::nullopt;
}

bool TemplateRenderer::reads(std::string_view name) const {
  const bool is_beside_messages = name == "tools" || name == "documents";
  if (writes_whole_messages_ && !is_beside_messages) return true;
  const auto any = [&](auto... names) { return (names_.contains(names) || ...); };
  if (name == "reasoning_content" || name == "thinking" || name == "reasoning")
    return any("reasoning_content", "thinking", "reasoning");
  return any(name);
}

void TemplateRenderer::ask(const RowJson& conversation, std::string where) {
  process_->say(shown_json(conversation));
  asked_.push_back(std::move(where));
}

RenderedChat TemplateRenderer::take() {
  D9D_CHECK(!asked_.empty(), "no conversation was asked for");
  const std::string row = std::move(asked_.front());
  asked_.pop_front();
  const auto line = process_->answer(std::chrono::seconds(limits_.seconds));
  if (!line) fail_without_answer(row);
  const RowJson answer = parse_json<RowJson>(*line);
  if (const auto problem = answer.find("problem"); problem != answer.end()) {
    const auto& why = problem->get_ref<const std::string&>();
    D9D_REQUIRE(why != no_date,
                "the chat template {} asks for today's date, which is another one when the run goes on: name "
                "one with data.template_date: {}",
                template_.where, today());
    D9D_REQUIRE(false, "{}: the chat template {} cannot write this conversation: {}", row, template_.where,
                why);
  }
  RenderedChat chat;
  chat.text = answer["text"].get<std::string>();
  for (const auto& part : answer["parts"])
    chat.counted.emplace_back(part[0].get<std::size_t>(), part[1].get<std::size_t>());
  return chat;
}

void TemplateRenderer::fail_without_answer(const std::string& row) const {
  D9D_REQUIRE(false,
              "{}: the chat template {} has not written this conversation within {} s, or has ended; look "
              "for a loop in the template without an end",
              row, template_.where, limits_.seconds);
  std::abort();  // not reached
}

RowJson render_request(const Conversation& conversation, bool marked) {
  return {{"messages", conversation.messages},
          {"answers", conversation.answers},
          {"trained", conversation.trained},
          {"prompt", false},
          {"marked", marked},
          {"tools", conversation.tools},
          {"documents", conversation.documents},
          {"arguments", conversation.arguments}};
}

RowJson prompt_request(const Conversation& conversation) {
  RowJson request = render_request(conversation, false);
  request["trained"] = RowJson::array();
  request["prompt"] = true;
  return request;
}

std::unique_ptr<TemplateRenderer> start_renderer(const TemplateUse& use) {
  auto found = find_chat_template(use.tokenizer, use.chat_template);
  D9D_REQUIRE(found,
              "there is no chat template beside {} (chat_template.jinja, or chat_template in "
              "tokenizer_config.json); name "
              "one with data.chat_template, or write the markers of each role in data.roles",
              use.tokenizer);
  return std::make_unique<TemplateRenderer>(std::move(*found), use);
}

}  // namespace d9d
