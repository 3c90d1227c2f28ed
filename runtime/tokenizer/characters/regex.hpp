#pragma once
// A compiled pattern (PCRE2 with UTF, UCP and JIT). Immutable
// and safe to share; each thread brings its own scratch.

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace d9d {

// Returns the begin of the next character after `at`, or text.size() + 1 at the end.
std::size_t next_boundary(std::string_view text, std::size_t at);

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

// Working memory of one thread, for any number of patterns.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;

 private:
  friend class Regex;
  struct Data;
  std::unique_ptr<Data> data_;
};

class JsonSection;

class Regex {
 public:
  // `pattern` as tokenizer.json writes it (Oniguruma); see
  // regex_dialect.hpp. A bad pattern is an input error.
  static Regex from_pattern(std::string_view pattern);
  // Matches exactly this text.
  static Regex from_literal(std::string_view text);
  // {"Regex": pattern} or {"String": text}.
  static Regex from_json(const JsonSection& section);

  // Returns the leftmost match that starts at or after `from`. `subject` must be well-formed UTF-8
  // and `from` a boundary of it. Look-behind sees the text before `from`. Input error: the pattern
  // exceeds its match limits.
  std::optional<TextSpan> find(std::string_view subject, std::size_t from, RegexScratch& scratch) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  static Regex compile(std::string_view text, unsigned options, std::string_view shown);

  std::shared_ptr<const Code> code_;
};

// Calls the function with all matches from left to right, not overlapping. Skips an empty match
// right after another match.
template <class Each>
void for_each_match(const Regex& regex, std::string_view text, RegexScratch& scratch, Each&& each) {
  std::size_t from = 0;
  std::optional<std::size_t> last_end;
  while (from <= text.size()) {
    const auto match = regex.find(text, from, scratch);
    if (!match) return;
    const bool empty = match->begin == match->end;
    if (!empty || last_end != match->end) {
      each(*match);
      last_end = match->end;
      from = match->end;
      if (!empty) continue;
    }
    from = next_boundary(text, match->end);
  }
}

}  // namespace d9d
