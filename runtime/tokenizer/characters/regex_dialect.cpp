#include "runtime/tokenizer/characters/regex_dialect.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    if (in_class_) refuse("a class without its closing bracket");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) const {
    throw Error(ErrorKind::input,
                fmt::format("regex \"{}\": {} at byte {} is not supported", pattern_, construct, at_));
  }

  bool starts(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void copy(std::size_t length) {
    out_ += pattern_.substr(at_, length);
    at_ += length;
  }

  void put(std::string_view text, std::size_t length) {
    out_ += text;
    at_ += length;
  }

  void step() {
    if (pattern_[at_] == '\\') return escape();
    if (in_class_) return class_member();
    switch (pattern_[at_]) {
      case '[':
        return open_class();
      case '(':
        return group();
      case '{':
        return interval();
      case '^':
        return put("(?m:^)", 1);
      case '$':
        return put("(?m:$)", 1);
      default:
        copy(1);
    }
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (starts("^")) copy(1);
    if (starts("]")) refuse("a class that starts with ]");
  }

  void class_member() {
    if (starts("[")) refuse("a class inside a class");
    if (starts("&&")) refuse("&& in a class");
    if (starts("]")) in_class_ = false;
    copy(1);
  }

  void group() {
    if (!starts("(?")) return copy(1);
    for (const std::string_view opening : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"}) {
      if (starts(opening)) return copy(opening.size());
    }
    // Elsewhere Ruby lets the option reach over the following alternatives, PCRE2 does not.
    if (starts("(?i)") && at_ == 0) return copy(4);
    refuse(fmt::format("the group {}", pattern_.substr(at_, 4)));
  }

  void interval() {
    const std::size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) refuse("{ without }");
    const std::string_view inside = pattern_.substr(at_ + 1, close - at_ - 1);
    if (inside.empty() || inside.find_first_not_of("0123456789,") != std::string_view::npos)
      refuse("a bare {");
    const char next = close + 1 < pattern_.size() ? pattern_[close + 1] : '\0';
    if (next == '+') refuse("a possessive interval");
    if (next == '?' && inside.find(',') == std::string_view::npos) refuse("? after {n}");
    put(fmt::format("{{{}{}}}", inside.front() == ',' ? "0" : "", inside), close + 1 - at_);
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) refuse("a backslash at the end");
    const char c = pattern_[at_ + 1];
    const auto is_one_of = [c](std::string_view all) { return all.find(c) != std::string_view::npos; };
    const bool is_edge_of_text = is_one_of("Az") && !in_class_;
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 || is_one_of("rntfae") || is_edge_of_text)
      return copy(2);
    switch (c) {
      case 's':
        return put("\\p{White_Space}", 2);
      case 'S':
        return put("\\P{White_Space}", 2);
      case 'd':
        return put("\\p{Nd}", 2);
      case 'D':
        return put("\\P{Nd}", 2);
      case 'v':
        return put("\\x0b", 2);
      case 'w':
        return put(in_class_ ? std::string(word_class) : fmt::format("[{}]", word_class), 2);
      case 'W':
        if (in_class_) refuse("\\W in a class");
        return put(fmt::format("[^{}]", word_class), 2);
      case 'p':
      case 'P':
        return property();
      case 'x':
        return hexadecimal();
      case 'u':
        return unicode();
      default:
        refuse(fmt::format("\\{}", c));
    }
  }

  void property() {
    const std::size_t close = pattern_.find('}', at_);
    if (!pattern_.substr(at_ + 2).starts_with("{") || close == std::string_view::npos)
      refuse("\\p without {name}");
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    // A bare script name means the characters of that script there, but all that are used with it here.
    const bool is_script = name.size() > 2 && std::ranges::find(no_scripts, name) == no_scripts.end();
    put(fmt::format("\\{}{{{}{}{}}}", pattern_[at_ + 1], negated ? "^" : "", is_script ? "sc:" : "", name),
        close + 1 - at_);
  }

  void hexadecimal() {
    if (pattern_.substr(at_ + 2).starts_with("{")) {
      const std::size_t close = pattern_.find('}', at_);
      if (close == std::string_view::npos) refuse("\\x{ without }");
      return copy(close + 1 - at_);
    }
    // Two digits are a byte there and a code point here; below 0x80 these are the same.
    const std::string_view digits = pattern_.substr(at_ + 2, 2);
    if (digits.size() != 2 || digits[0] > '7') refuse("\\x without two digits below 80");
    copy(4);
  }

  void unicode() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() != 4) refuse("\\u without four digits");
    put(fmt::format("\\x{{{}}}", digits), 6);
  }

  // Superscripts and fractions of Latin-1 are word characters there, those of other blocks are not.
  static constexpr std::string_view word_class = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\xb2\xb3\xb9\xbc-\xbe)";
  static constexpr std::array<std::string_view, 5> no_scripts{"Any", "Alphabetic", "White_Space", "Uppercase",
                                                              "Lowercase"};

  const std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

std::string to_pcre2_dialect(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace d9d
