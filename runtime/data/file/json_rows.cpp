#include "runtime/data/file/json_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t keys_shown = 12;

struct Failure {
  std::size_t column = 1;  // from 1
  std::string reason;
};

// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while parsing value - invalid
// literal; last read: '...'" -> "invalid literal".
std::string reason_in(std::string text) {
  if (const std::size_t dash = text.find(" - "); dash != std::string::npos) text.erase(0, dash + 3);
  if (const std::size_t last = text.find("; last read"); last != std::string::npos) {
    const std::size_t expected = text.find("; expected ", last);
    text.erase(last, expected == std::string::npos ? expected : expected - last);
  }
  return text;
}

bool is_ascii(char letter) {
  return (static_cast<unsigned char>(letter) & 0x80U) == 0;
}

// Where the character begins that ends at or before `at`, and is not whole.
std::size_t bad_character(std::string_view text, std::size_t at) {
  at = std::min(at, text.size() - 1);
  if (at > 0 && is_ascii(text[at])) --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U && !is_ascii(text[at - 1])) --at;
  return at;
}

Failure failure_of(std::string_view text) {
  try {
    const RowJson parsed = parse_json<RowJson>(text);
    return {text.find_first_not_of(blanks) + 1, fmt::format("it is {}", parsed.type_name())};
  } catch (const RowJson::parse_error& error) {
    const std::size_t byte = std::clamp<std::size_t>(error.byte, 1, text.size() + 1);
    Failure failure{byte, reason_in(error.what())};
    // The parser stops after the bytes that are no character.
    if (failure.reason.find("UTF-8") != std::string::npos) failure.column = bad_character(text, byte - 1) + 1;
    return failure;
  }
}

bool is_open(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  return text.size() <= 2 && (text.starts_with('{') || text.starts_with('['));
}

// What people have in such files.
std::string kind_of(std::string_view text, const Failure& failure) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  const std::string_view trimmed = text.substr(begin);
  const std::size_t at = std::min(failure.column - 1, text.size());
  const std::string_view rest = text.substr(std::min(text.find_first_not_of(blanks, at), text.size()));
  const std::string_view before = text.substr(0, at);
  if (is_open(trimmed))
    return trimmed.starts_with('[')
               ? "the file looks like one JSON array: set data.format: json"
               : "the object goes over several lines: write each in a line, e.g. with jq -c .";
  if (trimmed.starts_with('['))
    return "an array: set data.format: json where the file is one array of objects";
  for (const char* word : {"NaN", "Infinity", "-Infinity"}) {
    if (trimmed.find(word) == std::string_view::npos) continue;
    const bool here =
        rest.starts_with(word) || before.ends_with('N') || before.ends_with('I') || before.ends_with("-I");
    if (here) return fmt::format("{} is no JSON: write null", word);
  }
  if (failure.reason.find("surrogate") != std::string::npos)
    return "half of a character of two (\\ud800 to \\udfff): write the text anew as UTF-8";
  if (failure.reason.find("UTF-8") != std::string::npos)
    return fmt::format("the byte 0x{:02x} is no UTF-8 there",
                       static_cast<unsigned char>(text[std::min(at, text.size() - 1)]));
  if (failure.reason.find("end of input") != std::string::npos && failure.column > text.size())
    return trimmed.starts_with('{')
               ? "the line ends within the object: it is cut short, or goes over several lines"
               : "the line ends within a value";
  if (failure.reason.find("missing closing quote") != std::string::npos)
    return "the line ends within a text: it is cut short";
  if (failure.reason.find("expected end of input") != std::string::npos) {
    const std::size_t next = text.find_first_of("{,[\"", at > 0 ? at - 1 : 0);
    if (next != std::string_view::npos && text[next] == '{')
      return "two objects in a line: write each in its own";
    if (next != std::string_view::npos && text[next] == ',') return "a comma after the object: take it away";
  }
  if (!trimmed.starts_with('{')) return "no JSON at all";
  return "";
}

std::string letters_of(std::string_view text) {
  constexpr std::size_t letters = 24;
  std::string out;
  for (const char letter : text.substr(0, letters)) {
    const auto byte = static_cast<unsigned char>(letter);
    out += byte >= 0x20 && byte < 0x7f ? std::string(1, letter) : fmt::format("\\x{:02x}", byte);
  }
  return out + (text.size() > letters ? "..." : "");
}

// The end of the element that begins at `at`; beyond the text's size where it does not end there.
std::size_t end_of_element(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_text = false;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    if (in_text) {
      if (letter == '\\') ++at;
      if (letter == '"') in_text = false;
      continue;
    }
    if (letter == '"') in_text = true;
    if (letter == '{' || letter == '[') ++depth;
    if (depth == 0 && (letter == ',' || letter == ']')) return at;
    if ((letter == '}' || letter == ']') && --depth == 0) return at + 1;
  }
  return text.size() + 1;
}

}  // namespace

RowJson object_of_line(std::string_view line, const std::string& where, std::string_view expected) {
  RowJson object = try_parse_json<RowJson>(line);
  if (object.is_object()) return object;
  const Failure failure = failure_of(line);
  const std::string kind = kind_of(line, failure);
  throw Error(ErrorKind::input,
              fmt::format("{}: not a JSON object; {}. Column {}: {}{}{}; it begins \"{}\"", where, expected,
                          failure.column, failure.reason, kind.empty() ? "" : ": ", kind, letters_of(line)));
}

std::string keys_of_row(const RowJson& row) {
  if (!row.is_object() || row.empty()) return "no keys";
  std::string out;
  std::size_t count = 0;
  for (const auto& [key, value] : row.items()) {
    if (count++ == keys_shown) return out + ", ...";
    out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", key);
  }
  return out;
}

void JsonArrayText::fail(const TextBlock& block, std::size_t at, const std::string& why) const {
  const std::string_view before = block.text.substr(0, at);
  const auto line = block.first_line + static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
  throw Error(ErrorKind::input, fmt::format("{}:{}: {}", file_, line, why));
}

// Where the next element begins, or the text's size.
std::size_t JsonArrayText::read_separator(const TextBlock& block, std::size_t at) {
  const std::string_view text = block.text;
  for (at = text.find_first_not_of(blanks, at); at < text.size();
       at = text.find_first_not_of(blanks, at + 1)) {
    switch (state_) {
      case At::before:
        if (text.substr(at).starts_with(byte_order_mark)) {
          at += byte_order_mark.size() - 1;
          continue;
        }
        if (text[at] != '[') {
          fail(block, at,
               text[at] == '{'
                   ? "one JSON object, expected an array of objects, or one object a line: write the list "
                     "that is in it as a file of its own, e.g. with jq .data"
                   : "no JSON array; expected one of objects");
        }
        state_ = At::first;
        continue;
      case At::first:
      case At::element:
        if (text[at] == ']') {
          if (state_ == At::element)
            fail(block, at, "a comma after the last element of the array: take it away");
          state_ = At::behind;
          continue;
        }
        return at;
      case At::separator:
        if (text[at] != ',' && text[at] != ']') fail(block, at, "no comma between two elements of the array");
        state_ = text[at] == ',' ? At::element : At::behind;
        continue;
      case At::behind:
        fail(block, at, "something after the end of the array");
    }
  }
  return text.size();
}

void JsonArrayText::add(const TextBlock& block, const UseElement& use) {
  lines_ = block.first_line;
  for (std::size_t at = read_separator(block, 0); at < block.text.size(); at = read_separator(block, at)) {
    const std::size_t end = end_of_element(block.text, at);
    if (end > block.text.size())
      fail(block, at, fmt::format("the file ends within element {} of the array; it is cut short", count_));
    use(block.text.substr(at, end - at), count_++);
    state_ = At::separator;
    at = end;
  }
}

void JsonArrayText::finish() const {
  D9D_REQUIRE(state_ == At::behind, "{}: the file ends within the array, after element {}; it is cut short",
              file_, count_);
}

std::size_t whole_elements(std::string_view text) {
  // Depth counts from the array's own bracket in the first piece, and from inside the array in later
  // pieces. Both are right, because a closing bracket at depth 0 ends the search.
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return text.size();
  std::size_t at = text[first] == '[' ? first + 1 : first;
  std::size_t whole = 0;
  while (at < text.size()) {
    at = text.find_first_not_of(" \t\r\n,", at);
    if (at == std::string_view::npos || text[at] == ']')
      return at == std::string_view::npos ? whole : text.size();
    const std::size_t end = end_of_element(text, at);
    if (end > text.size()) return whole;
    whole = at = end;
  }
  return whole;
}

namespace {

constexpr std::size_t row_bytes_max = std::size_t{1} << 28;  // of a packed file

void use_lines(const std::string& file, const TextBlock& block,
               const std::function<void(const JsonRow&)>& use) {
  std::uint64_t number = block.first_line;
  for (std::size_t begin = 0; begin < block.text.size(); ++number) {
    const std::size_t end = std::min(block.text.find('\n', begin), block.text.size());
    std::string_view line = block.text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    if (line.find_first_not_of(blanks) == std::string_view::npos) continue;
    const RowPlace place{file, number, true};
    const RowJson object = try_parse_json<RowJson>(line);
    if (!object.is_object()) object_of_line(line, text_of(place));  // says why
    use({object, place, block.bytes_up_to(line.data() + line.size())});
  }
}

bool begins_with_object_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos || text[begin] != '{') return false;
  return RowJson::accept(text.substr(begin, text.find('\n', begin) - begin));
}

}  // namespace

void for_each_json_row(const std::string& file, bool is_array,
                       const std::function<void(const JsonRow&)>& use) {
  if (!is_array) {
    for_each_block(
        file, whole_lines, [&](const TextBlock& block) { use_lines(file, block, use); }, row_bytes_max);
    return;
  }
  JsonArrayText array(file);
  std::optional<bool> has_lines;
  const auto whole = [&](std::string_view text) {
    return has_lines.value_or(begins_with_object_line(text)) ? whole_lines(text) : whole_elements(text);
  };
  bool any = false;
  for_each_block(
      file, whole,
      [&](const TextBlock& block) {
        if (!has_lines) has_lines = begins_with_object_line(block.text);
        if (*has_lines) return use_lines(file, block, use);
        any = true;
        array.add(block, [&](std::string_view element, std::uint64_t number) {
          const RowPlace place{file, number, false};
          use({object_of_line(element, text_of(place), "expected one at each place of the array"), place,
               block.bytes_up_to(element.data() + element.size())});
        });
      },
      row_bytes_max);
  if (any) array.finish();
}

}  // namespace d9d
