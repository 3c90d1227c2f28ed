#pragma once
// JSON objects, one a line or in an array, with the reason where a text is none.

#include <functional>
#include <string>
#include <string_view>

#include "runtime/data/file/row_json.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/file/text_blocks.hpp"

namespace d9d {

// The object that a line or an element is; `expected` is what the file should have. Input error: `where`, the column, the parser's reason in a few words, and what the bytes
// are where that is known: an array, an object over several lines, NaN, two objects, ...
RowJson object_of_line(std::string_view line, const std::string& where,
                       std::string_view expected = "expected one a line");

// "instruction", "input", "output": for errors.
std::string keys_of_row(const RowJson& row);

// The elements of the array that a text is, in order; they are cut at brackets, and parsed by the caller. A text may come
// in pieces: none ends within an element.
class JsonArrayText {
 public:
  explicit JsonArrayText(const std::string& file) : file_(file) {}
  // Calls with each element and its number from 0. Input errors name file and line: no array, no comma between elements,
  // something behind the array, an array that the file ends in.
  using UseElement = std::function<void(std::string_view element, std::uint64_t number)>;
  void add(const TextBlock& block, const UseElement& use);
  void finish() const;  // after the last piece
  std::uint64_t count() const { return count_; }

 private:
  enum class At { before, first, element, separator, behind };
  std::size_t read_separator(const TextBlock& block, std::size_t at);
  [[noreturn]] void fail(const TextBlock& block, std::size_t at, const std::string& why) const;

  const std::string file_;
  At state_ = At::before;
  std::uint64_t count_ = 0;
  std::uint64_t lines_ = 1;
};

// Where the last whole element of a piece of an array ends, with what parts it from the next one.
std::size_t whole_elements(std::string_view text);

struct JsonRow {
  const RowJson& object;  // lives only during the call
  RowPlace place;
  std::uint64_t bytes_read = 0;  // of the file, up to about its end
};
// The rows of a file of JSON lines, packed or not, or of one array (`is_array`; if such a file has an object a line, its
// lines). Empty lines are left out. Input errors as above.
void for_each_json_row(const std::string& file, bool is_array,
                       const std::function<void(const JsonRow&)>& use);

}  // namespace d9d
