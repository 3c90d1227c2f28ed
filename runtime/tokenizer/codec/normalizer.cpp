#include "runtime/tokenizer/codec/normalizer.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/unicode_class.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

constexpr std::string_view known_normalizers =
    "null, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Nmt, BertNormalizer, "
    "Precompiled, Sequence";

// A damaged or hostile file may multiply the text in step after step; no real tokenizer grows
// a text this much.
constexpr std::size_t expansion_max = 256;
constexpr std::size_t expansion_free = 1 << 20;

void require_bounded(std::size_t made, std::size_t text) {
  D9D_REQUIRE(
      made <= expansion_free + expansion_max * text,
      "the tokenizer's normalizer makes more than {} bytes of each byte of a text of {}; look at its Replace "
      "steps",
      expansion_max, text);
}

void append_normalized(std::string_view text, int options, std::string& out) {
  if (text.empty()) return;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                               static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                               static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  D9D_CHECK(length >= 0, "utf8proc: {}", utf8proc_errmsg(length));
  out.append(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
}

}  // namespace

Normalizer Normalizer::from_json(const JsonSection& section) {
  Normalizer normalizer;
  if (!section.is_null()) normalizer.add(section);
  for (const Step& step : normalizer.steps_) {
    const auto* filter = std::get_if<TextFilter>(&step);
    const bool only_foreign =
        filter && (*filter == TextFilter::marks || *filter == TextFilter::nonspacing_marks ||
                   *filter == TextFilter::bert_ideographs);
    if (!std::holds_alternative<Form>(step) && !only_foreign) normalizer.keeps_ascii_ = false;
  }
  return normalizer;
}

bool Normalizer::add_plain(std::string_view type) {
  static const std::map<std::string_view, Step> plain{{"NFC", Form::nfc},
                                                      {"NFD", Form::nfd},
                                                      {"NFKC", Form::nfkc},
                                                      {"NFKD", Form::nfkd},
                                                      {"Lowercase", TextFilter::lower_case},
                                                      {"StripAccents", TextFilter::marks},
                                                      {"Nmt", TextFilter::nmt}};
  const auto found = plain.find(type);
  if (found == plain.end()) return false;
  steps_.push_back(found->second);
  return true;
}

void Normalizer::add(const JsonSection& section) {
  const std::string type = section.text("type");
  if (add_plain(type)) return;
  if (type == "Sequence") {
    for (const JsonSection& inner : section.at("normalizers").items()) add(inner);
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{section.text("prepend")});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{Regex::from_json(section.at("pattern")), section.text("content")});
  } else if (type == "Strip") {
    steps_.emplace_back(Strip{section.flag("strip_left", true), section.flag("strip_right", true)});
  } else if (type == "BertNormalizer") {
    add_bert(section);
  } else if (type == "Precompiled") {
    steps_.emplace_back(CharacterMap::from_json(section));
  } else {
    section.refuse(fmt::format("the normalizer {}", type), known_normalizers);
  }
}

void Normalizer::add_bert(const JsonSection& section) {
  const bool lower = section.flag("lowercase", true);
  if (section.flag("clean_text", true)) steps_.emplace_back(TextFilter::bert_clean);
  if (section.flag("handle_chinese_chars", true)) steps_.emplace_back(TextFilter::bert_ideographs);
  if (section.flag("strip_accents", lower)) {
    steps_.emplace_back(Form::nfd);
    steps_.emplace_back(TextFilter::nonspacing_marks);
  }
  if (lower) steps_.emplace_back(TextFilter::lower_case);
}

NormalizedText Normalizer::apply(std::string_view text, NormalizerScratch& scratch,
                                 RegexScratch& regex) const {
  if (steps_.empty()) return {text};
  if (keeps_ascii_ && first_non_ascii(text) == text.size()) return {text};
  std::string_view now = text;
  std::size_t head = text.empty() ? 0 : code_point_at(text, 0).length;
  for (const Step& step : steps_) {
    scratch.next.clear();
    head = std::visit([&](const auto& which) { return run(which, now, head, scratch.next, regex); }, step);
    require_bounded(scratch.next.size(), text.size());
    std::swap(scratch.current, scratch.next);
    now = scratch.current;
  }
  return {now, head > 0};
}

namespace {

// What is left in front counts as made of the first character, unless that one was gone before.
std::size_t at_least_first(std::size_t head, std::string_view out, std::size_t made) {
  if (head == 0 || out.empty()) return 0;
  return std::min(std::max(made, code_point_at(out, 0).length), out.size());
}

}  // namespace

void Normalizer::append_form(std::string_view text, Form form, std::string& out) {
  int options = UTF8PROC_STABLE;
  options |= form == Form::nfc || form == Form::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == Form::nfkc || form == Form::nfkd) options |= UTF8PROC_COMPAT;
  // ASCII never changes, but its last character may compose with what follows.
  const std::size_t foreign = first_non_ascii(text);
  std::size_t done = foreign == text.size() || foreign == 0 ? foreign : foreign - 1;
  out.append(text.substr(0, done));
  for (std::size_t at = done; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (is_normalization_newer(point.value)) {
      append_normalized(text.substr(done, at - done), options, out);
      out.append(text.substr(at, point.length));
      done = at + point.length;
    }
    at += point.length;
  }
  append_normalized(text.substr(done), options, out);
}

std::size_t Normalizer::run(Form form, std::string_view text, std::size_t head, std::string& out,
                            RegexScratch&) {
  append_form(text.substr(0, head), form, out);
  const std::size_t made = out.size();
  out.clear();
  append_form(text, form, out);
  return at_least_first(head, out, made);
}

std::size_t Normalizer::run(TextFilter filter, std::string_view text, std::size_t head, std::string& out,
                            RegexScratch&) {
  return apply_filter(filter, text, head, out);
}

std::size_t Normalizer::run(const Prepend& step, std::string_view text, std::size_t head, std::string& out,
                            RegexScratch&) {
  if (!text.empty()) out.append(step.text);
  out.append(text);
  return text.empty() ? 0 : head + step.text.size();
}

std::size_t Normalizer::run(const Replace& step, std::string_view text, std::size_t head, std::string& out,
                            RegexScratch& regex) {
  std::size_t done = 0;
  std::size_t head_out = 0;
  const auto copy_to = [&](std::size_t end) {
    if (done < head) head_out = out.size() + std::min(head, end) - done;
    out.append(text.substr(done, end - done));
  };
  for_each_match(step.pattern, text, regex, [&](TextSpan match) {
    copy_to(match.begin);
    out.append(step.content);
    require_bounded(out.size(), text.size());
    // What is put in counts as made of the last character that it replaces.
    if (match.end <= head) head_out = out.size();
    done = match.end;
  });
  copy_to(text.size());
  return head_out;
}

std::size_t Normalizer::run(Strip step, std::string_view text, std::size_t head, std::string& out,
                            RegexScratch&) {
  const std::size_t left = step.left ? leading_white_space(text) : 0;
  text.remove_prefix(left);
  if (step.right) text.remove_suffix(trailing_white_space(text));
  out.append(text);
  return head - std::min(head, left);
}

std::size_t Normalizer::run(const CharacterMap& map, std::string_view text, std::size_t head,
                            std::string& out, RegexScratch&) {
  map.apply(text.substr(0, head), out);
  const std::size_t made = out.size();
  out.clear();
  map.apply(text, out);
  return at_least_first(head, out, made);
}

}  // namespace d9d
