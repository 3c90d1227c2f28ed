#include "runtime/data/bpe/normalizer.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "runtime/base/error.hpp"
#include "runtime/data/bpe/unicode_class.hpp"
#include "runtime/data/bpe/utf8.hpp"

namespace d9d {
namespace {

constexpr std::string_view known_normalizers =
    "null, NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, Sequence";

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
    if (!std::holds_alternative<Form>(step)) normalizer.keeps_ascii_ = false;
  }
  return normalizer;
}

void Normalizer::add(const JsonSection& section) {
  const std::string type = section.text("type");
  if (type == "Sequence") {
    for (const JsonSection& inner : section.at("normalizers").items()) add(inner);
  } else if (type == "NFC") {
    steps_.emplace_back(Form::nfc);
  } else if (type == "NFD") {
    steps_.emplace_back(Form::nfd);
  } else if (type == "NFKC") {
    steps_.emplace_back(Form::nfkc);
  } else if (type == "NFKD") {
    steps_.emplace_back(Form::nfkd);
  } else if (type == "Lowercase") {
    steps_.emplace_back(Lowercase{});
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{section.text("prepend")});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{Regex::from_json(section.at("pattern")), section.text("content")});
  } else if (type == "Strip") {
    steps_.emplace_back(Strip{section.flag("strip_left", true), section.flag("strip_right", true)});
  } else {
    section.refuse(fmt::format("the normalizer {}", type), known_normalizers);
  }
}

std::string_view Normalizer::apply(std::string_view text, NormalizerScratch& scratch,
                                   RegexScratch& regex) const {
  if (steps_.empty()) return text;
  if (keeps_ascii_ && first_non_ascii(text) == text.size()) return text;
  std::string_view now = text;
  for (const Step& step : steps_) {
    scratch.next.clear();
    std::visit([&](const auto& which) { run(which, now, scratch.next, regex); }, step);
    std::swap(scratch.current, scratch.next);
    now = scratch.current;
  }
  return now;
}

void Normalizer::run(Form form, std::string_view text, std::string& out, RegexScratch&) {
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

void Normalizer::run(Lowercase, std::string_view text, std::string& out, RegexScratch&) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    if (point.value == 0x130) {
      // The only character whose lower case is two (SpecialCasing.txt, unconditional mappings).
      append_utf8(out, 'i');
      append_utf8(out, 0x307);
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point.value))));
    }
  }
}

void Normalizer::run(const Prepend& step, std::string_view text, std::string& out, RegexScratch&) {
  if (!text.empty()) out.append(step.text);
  out.append(text);
}

void Normalizer::run(const Replace& step, std::string_view text, std::string& out, RegexScratch& regex) {
  std::size_t done = 0;
  for_each_match(step.pattern, text, regex, [&](TextSpan match) {
    out.append(text.substr(done, match.begin - done)).append(step.content);
    done = match.end;
  });
  out.append(text.substr(done));
}

void Normalizer::run(Strip step, std::string_view text, std::string& out, RegexScratch&) {
  if (step.left) text.remove_prefix(leading_white_space(text));
  if (step.right) text.remove_suffix(trailing_white_space(text));
  out.append(text);
}

}  // namespace d9d
