#include "runtime/data/chat/template_renderer.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/needs_jinja.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ChatTemplate template_of_text(const std::string& text) {
  ChatTemplate one;
  one.texts["default"] = text;
  one.where = "chat_template.jinja";
  return one;
}

Conversation talk_of_two() {
  Conversation talk;
  talk.messages =
      RowJson::parse(R"([{"role": "user", "content": "hé"}, {"role": "assistant", "content": "yes"}])");
  talk.answers = talk.trained = {1};
  return talk;
}

RenderedChat rendered(const std::string& text, const TemplateUse& use = {},
                      const TemplateLimits& limits = {}) {
  TemplateRenderer renderer(template_of_text(text), use, limits);
  renderer.ask(render_request(talk_of_two(), true), "talk.jsonl:7");
  return renderer.take();
}

std::string refusal_of_template(const std::string& text, const TemplateUse& use = {},
                                const TemplateLimits& limits = {}) {
  return test::error_of([&] { rendered(text, use, limits); }, ErrorKind::input);
}

TEST(TemplateRenderer, SaysWhereTheAnswersStandInBytes) {
  D9D_NEEDS_JINJA();

  const RenderedChat chat = rendered(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt "
      "%}<assistant>{% endif %}");

  EXPECT_EQ(chat.text, "<user>hé</><assistant>yes</>");
  ASSERT_EQ(chat.counted.size(), 1U);
  EXPECT_EQ(chat.text.substr(chat.counted[0].first, chat.counted[0].second - chat.counted[0].first),
            "yes</>");
}

// As many parts as answers, but both are of the second one: the first has nothing to say, and trains alone.
TEST(TemplateRenderer, KnowsWhoseThePartsAreThatATemplateMarks) {
  D9D_NEEDS_JINJA();
  Conversation talk;
  talk.messages = RowJson::parse(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": ""},
      {"role": "user", "content": "b"},
      {"role": "assistant", "content": "yes", "reasoning_content": "hm"}])");
  talk.answers = {1, 3};
  const auto counted = [&](std::vector<std::size_t> trained) {
    talk.trained = std::move(trained);
    TemplateRenderer renderer(
        template_of_text(
            "{% for m in messages %}<{{ m.role }}>{% if m.role == 'user' %}{{ m.content }}{% else %}"
            "{% if m.reasoning_content %}{% generation %}({{ m.reasoning_content }}){% endgeneration "
            "%}|{% endif %}{% if m.content %}{% generation %}{{ m.content }}{% endgeneration %}"
            "{% endif %}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"),
        {}, {});
    renderer.ask(render_request(talk, true), "talk.jsonl:7");
    const RenderedChat chat = renderer.take();
    EXPECT_EQ(chat.text, "<user>a<assistant><user>b<assistant>(hm)|yes");
    std::string text;
    for (const auto& [begin, end] : chat.counted) text += chat.text.substr(begin, end - begin) + ".";
    return text;
  };

  EXPECT_EQ(counted({1, 3}), "(hm).yes.");
  EXPECT_EQ(counted({3}), "(hm).yes.");
  EXPECT_EQ(counted({1}), "");
}

TEST(TemplateRenderer, KnowsWhatTheTemplateReads) {
  D9D_NEEDS_JINJA();
  const TemplateRenderer renderer(
      template_of_text("{{ messages[0].tool_calls }}{{ message['thinking'] }}{{ tools }}"), {});

  EXPECT_TRUE(renderer.reads("tool_calls"));
  EXPECT_TRUE(renderer.reads("reasoning_content")) << "an alias";
  EXPECT_TRUE(renderer.reads("tools"));
  EXPECT_FALSE(renderer.reads("name"));
}

TEST(TemplateRenderer, KnowsThatATemplateWritesWholeMessages) {
  D9D_NEEDS_JINJA();

  for (const char* text : {"{{ messages }}", "{% for m in messages %}{{ m | tojson }}{% endfor %}",
                           "{% for k in messages[0] %}{{ k }}{% endfor %}",
                           "{{ strftime_now('%d') }}{{ messages[1].values() | list }}"}) {
    const TemplateRenderer renderer(template_of_text(text), {});
    EXPECT_TRUE(renderer.reads("tool_calls")) << text;
    EXPECT_FALSE(renderer.reads("documents")) << text << ": it is no field of a message";
  }
  for (const char* text :
       {"{{ messages[0].content }}", "{{ messages | length }}", "{{ raise_exception('no') }}"})
    EXPECT_FALSE(TemplateRenderer(template_of_text(text), {}).reads("tool_calls")) << text;
}

TEST(TemplateRenderer, NamesTheRowThatATemplateRefusesOrCannotFinish) {
  D9D_NEEDS_JINJA();

  EXPECT_THAT(
      refusal_of_template("{{ raise_exception('no user today') }}"),
      AllOf(HasSubstr("talk.jsonl:7: the chat template chat_template.jinja"), HasSubstr("no user today")));
  EXPECT_THAT(refusal_of_template("{{ 'x' * 100000000000 }}"), HasSubstr("more memory than it may have"));
  TemplateLimits limits;
  limits.text_bytes = 1000;
  EXPECT_THAT(refusal_of_template("{% for i in range(9999) %}{{ 'xxxxxxxxxx' }}{% endfor %}", {}, limits),
              HasSubstr("more than 1000 bytes"));
  limits.seconds = 2;
  EXPECT_THAT(
      refusal_of_template("{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99999) %}"
                          "{% set x = 1 %}{% endfor %}{% endfor %}{% endfor %}",
                          {}, limits),
      AllOf(HasSubstr("talk.jsonl:7"), HasSubstr("within 2 s")));
}

TEST(TemplateRenderer, RefusesATemplateThatIsNone) {
  D9D_NEEDS_JINJA();

  EXPECT_THAT(refusal_of_template("{% if %}"), HasSubstr("cannot be used: line 1"));
  EXPECT_THAT(refusal_of_template("{{ messages.__class__.__mro__ }}"),
              HasSubstr("cannot write this conversation"))
      << "it runs in a sandbox";
}

TEST(TemplateRenderer, AsksForTheDateThatATemplateWants) {
  D9D_NEEDS_JINJA();
  const std::string text = "{{ strftime_now('%d %b %Y') }}";

  EXPECT_THAT(refusal_of_template(text), HasSubstr("name one with data.template_date: 2"));
  TemplateUse use;
  use.date = "2024-07-26";
  use.arguments["unused"] = 1;
  TemplateRenderer renderer(template_of_text(text), use);
  renderer.ask(prompt_request(talk_of_two()), "here");
  EXPECT_EQ(renderer.take().text, "26 Jul 2024");
  use.date = "26 Jul";
  EXPECT_THAT(refusal_of_template(text, use),
              HasSubstr("data.template_date = 26 Jul: no date; write YYYY-MM-DD"));
}

TEST(TemplateRenderer, RefusesToGuessWhereAnAnswerStands) {
  D9D_NEEDS_JINJA();

  // Written backwards, a text of fewer messages is no begin of one of more.
  TemplateRenderer renderer(
      template_of_text(
          "{% for m in messages | reverse %}{{ m.content }};{% endfor %}{{ messages | length }}"),
      {});
  Conversation talk = talk_of_two();
  talk.messages.push_back({{"role", "user"}, {"content", "more"}});
  renderer.ask(render_request(talk, true), "talk.jsonl:9");

  EXPECT_THAT(test::error_of([&] { renderer.take(); }, ErrorKind::input),
              AllOf(HasSubstr("talk.jsonl:9"), HasSubstr("not certain where message 1"),
                    HasSubstr("loss: last_answer")));
}

TEST(TemplateRenderer, SaysHowToGetJinja) {
  ::setenv("D9D_PYTHON", "/no/python", 1);
  const std::string text = refusal_of_template("{{ messages }}");
  ::unsetenv("D9D_PYTHON");

  EXPECT_THAT(text, AllOf(HasSubstr("needs Python's library jinja2"), HasSubstr("/no/python"),
                          HasSubstr("python3-jinja2"), HasSubstr("data.roles")));
}

TEST(TemplateRenderer, NamesTheWaysOutWhereThereIsNoTemplate) {
  const Folder folder;
  TemplateUse use;
  use.tokenizer = folder.write("tokenizer.json", "{}");

  EXPECT_THAT(test::error_of([&] { start_renderer(use); }, ErrorKind::input),
              AllOf(HasSubstr("there is no chat template beside"), HasSubstr("data.chat_template"),
                    HasSubstr("data.roles")));
}

}  // namespace
}  // namespace d9d
