#include "runtime/data/file/npy_header.hpp"

#include <charconv>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NpyHeader run() {
    NpyHeader header;
    int seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = quoted();
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = tuple();
        seen |= 4;
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (seen != 7 || at_ != text_.size()) refuse();
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    constexpr std::size_t shown_max = 200;
    const bool long_one = text_.size() > shown_max;
    throw Error(
        ErrorKind::input,
        fmt::format(
            "the header \"{}{}\" is not {{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }}",
            text_.substr(0, shown_max), long_one ? "..." : ""));
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) refuse();
  }

  std::string quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse();
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return std::string(inside);
  }

  bool boolean() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view name = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(name)) continue;
      at_ += name.size();
      return value;
    }
    refuse();
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t value = -1;
      const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (result.ec != std::errc{} || value < 0) refuse();
      at_ = static_cast<std::size_t>(result.ptr - text_.data());
      out.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) {
  return Parser(text).run();
}

std::string to_text(const NpyHeader& header) {
  std::string shape;
  for (const std::int64_t size : header.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
  if (header.shape.size() == 1) shape += ",";
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", header.descr,
                     header.fortran_order ? "True" : "False", shape);
}

}  // namespace d9d
