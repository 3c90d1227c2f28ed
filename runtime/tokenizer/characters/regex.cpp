#include "runtime/tokenizer/characters/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/regex_dialect.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {
namespace {

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof buffer) < 0) return fmt::format("PCRE2 error {}", code);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

std::size_t next_boundary(std::string_view text, std::size_t at) {
  return at < text.size() ? at + code_point_at(text, at).length : text.size() + 1;
}

struct RegexScratch::Data {
  // Only the whole match is asked for, so one pair serves every pattern.
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  ~Data() { pcre2_match_data_free(match); }
};

RegexScratch::RegexScratch() : data_(std::make_unique<Data>()) {}
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

struct Regex::Code {
  pcre2_code* code = nullptr;
  std::string shown;
  ~Code() { pcre2_code_free(code); }
};

Regex Regex::from_pattern(std::string_view pattern) {
  return compile(to_pcre2_dialect(pattern), PCRE2_UTF | PCRE2_UCP, pattern);
}

Regex Regex::from_literal(std::string_view text) {
  return compile(text, PCRE2_UTF | PCRE2_LITERAL, text);
}

Regex Regex::from_json(const JsonSection& section) {
  if (section.has("Regex")) return from_pattern(section.text("Regex"));
  return from_literal(section.text("String"));
}

Regex Regex::compile(std::string_view text, unsigned options, std::string_view shown) {
  auto code = std::make_shared<Code>();
  code->shown = shown;
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  code->code = pcre2_compile(units(text), text.size(), options, &error, &offset, context);
  pcre2_compile_context_free(context);
  D9D_REQUIRE(code->code != nullptr, "regex \"{}\" is not understood: {}", shown, message_of(error));
  // Without JIT (not every machine has it) the interpreter does the same, slower.
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);
  return Regex(std::move(code));
}

std::optional<TextSpan> Regex::find(std::string_view subject, std::size_t from, RegexScratch& scratch) const {
  pcre2_match_data* match = scratch.data_->match;
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code_->code, units(subject), subject.size(), from, options | PCRE2_NO_UTF_CHECK, match,
                       nullptr);
  };
  int result = run(0);
  // The interpreter keeps its state on the heap, so it finishes where the JIT's stack ends.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  D9D_REQUIRE(result >= 0, "regex \"{}\" gives up on a text of {} bytes: {}", code_->shown, subject.size(),
              message_of(result));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match);
  return TextSpan{bounds[0], bounds[1]};
}

}  // namespace d9d
