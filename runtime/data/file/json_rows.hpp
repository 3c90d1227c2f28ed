#pragma once
// Reads JSON objects, one in each line or all in an array. Errors say why a text is no such object.

#include <functional>
#include <string>
#include <string_view>

#include "runtime/data/file/row_json.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/file/text_blocks.hpp"

namespace d9d {

// Parses the object of a line or of an array's element. Input error with `where`, the column, the
// parser's reason in a few words, what the file should have (`expected`), and what the text is if
// that is known: an array, an object over several lines, NaN, two objects, ...
RowJson object_of_line(std::string_view line, const std::string& where,
                       std::string_view expected = "expected one a line");

// Lists the keys of a row for an error: "instruction", "input", "output".
std::string keys_of_row(const RowJson& row);

// Cuts the text of a JSON array at the brackets of its elements, in order; the caller parses them.
// The text may come in pieces, each of which ends between two elements.
class JsonArrayText {
 public:
  explicit JsonArrayText(const std::string& file) : file_(file) {}
  // Calls the function with each element and its number from 0. Input errors name file and line:
  // the text is no array, a comma is missing, something follows the array, the file ends within it.
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

// Returns where the last whole element in a piece of an array ends, including the comma after it.
std::size_t whole_elements(std::string_view text);

struct JsonRow {
  const RowJson& object;  // lives only during the call
  RowPlace place;
  std::uint64_t bytes_read = 0;  // of the file, up to about the end of this row
};
// Reads the rows of a file, packed or not, of JSON lines or of one array (`is_array`; a
// file that has an object in each line instead is read by lines). Empty lines are skipped.
// Input errors as above.
void for_each_json_row(const std::string& file, bool is_array,
                       const std::function<void(const JsonRow&)>& use);

}  // namespace d9d
