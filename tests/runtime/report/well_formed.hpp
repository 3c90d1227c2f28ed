#pragma once
// Whether a page is XML: every tag is closed, in order, every attribute is quoted, every '&' begins an entity.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace d9d::test {

class MarkupReader {
 public:
  explicit MarkupReader(std::string_view text) : text_(text) {}

  // Empty, or the first thing that is wrong.
  std::string problem() {
    while (at_ < text_.size()) {
      const std::string found = text_[at_] == '<' ? tag() : characters();
      if (!found.empty()) return found + " at: " + std::string(text_.substr(at_, 60));
    }
    return open_.empty() ? "" : "<" + open_.back() + "> is not closed";
  }
  const std::vector<std::string>& names() const { return names_; }  // of all elements, in order

 private:
  std::string characters() {
    if (text_[at_] == '&') {
      const std::size_t end = text_.find(';', at_);
      if (end == std::string_view::npos || end > at_ + 6) return "'&' without an entity";
    }
    ++at_;
    return {};
  }

  std::string tag() {
    if (text_.substr(at_, 9) == "<!DOCTYPE") {
      at_ = text_.find('>', at_) + 1;
      return {};
    }
    const bool closing = text_.substr(at_, 2) == "</";
    std::size_t end = at_ + (closing ? 2 : 1);
    const std::size_t begin = end;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0)) ++end;
    const std::string name(text_.substr(begin, end - begin));
    if (name.empty()) return "'<' without a name";
    std::vector<std::string> attributes;
    for (; end < text_.size() && text_[end] != '>' && text_[end] != '/';) {
      const std::string wrong = attribute(end, attributes);
      if (!wrong.empty()) return wrong + " in <" + name + ">";
    }
    const bool empty = end < text_.size() && text_[end] == '/';
    end += empty ? 1 : 0;
    if (end >= text_.size() || text_[end] != '>') return "<" + name + " without its '>'";
    if (closing) {
      if (open_.empty() || open_.back() != name) return "</" + name + "> closes nothing";
      open_.pop_back();
    } else {
      names_.push_back(name);
      if (!empty) open_.push_back(name);
    }
    at_ = end + 1;
    return {};
  }

  std::string attribute(std::size_t& end, std::vector<std::string>& seen) const {
    if (text_[end] == ' ' || text_[end] == '\n') {
      ++end;
      return {};
    }
    const std::size_t equals = text_.find('=', end);
    if (equals == std::string_view::npos || text_[equals + 1] != '"') return "an attribute without quotes";
    const std::string name(text_.substr(end, equals - end));
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return name + " twice";
    seen.push_back(name);
    const std::size_t close = text_.find('"', equals + 2);
    if (close == std::string_view::npos) return name + " without its end";
    const std::string_view value = text_.substr(equals + 2, close - equals - 2);
    if (value.find('<') != std::string_view::npos) return name + " with '<'";
    end = close + 1;
    return {};
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::vector<std::string> names_;
};

inline std::string markup_problem(std::string_view html) {
  return MarkupReader(html).problem();
}

}  // namespace d9d::test
