#pragma once
// Turns values of Arrow's arrays into JSON, and reads lists of integers in place. Include it only
// from sources of this folder.

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/file/npy.hpp"
#include "runtime/data/file/row_json.hpp"

namespace d9d {

// Returns a value as JSON: texts (bytes count as text), numbers, booleans, nulls, and lists and
// structs of them. Maps whose keys are texts become objects, other maps lists of {key, value}.
// A dictionary's value is the one that it stands for. A value of any other type becomes the
// text that Arrow prints.
RowJson json_value(const arrow::Array& array, std::int64_t row);

// A row as an object.
RowJson record_of(const arrow::RecordBatch& batch, std::int64_t row);

// The text of a row in a column of texts: strings, bytes, dictionaries of them, or a column of
// nulls only. A null is an empty text.
bool is_text(const arrow::DataType& type);
std::string_view text_value(const arrow::Array& array, std::int64_t row);

// The values that lists may have. `flags` may also be booleans, read as 0 and 1.
enum class ListValues { integers, flags };

// The lists of an array, [rows]. A null is an empty list, whatever its offsets say. Points into the
// array's buffers if the lists follow each other there; else copies their integers.
class IntegerLists {
 public:
  // Input errors begin with `where`: the array has no lists of such values, a list has nulls, or
  // offsets are out of order.
  IntegerLists(const arrow::Array& array, const std::string& where,
               ListValues allowed = ListValues::integers);

  std::uint64_t rows() const { return rows_; }
  // The number of integers before list `row`, which may be rows() of this array.
  std::uint64_t begin_of(std::uint64_t row) const { return place_of(row) - place_of(0); }
  // Reads integers from `first` on, as begin_of() counts.
  void read(std::uint64_t first, std::span<std::int64_t> out) const;
  // Whether all values are read from within these bytes.
  bool is_within(std::span<const std::byte> bytes) const;

 private:
  // Copies lists that have nulls or whose offsets are in any order.
  template <class Lists>
  void copy_lists(const Lists& lists, const std::string& where);
  void set_fixed(const arrow::FixedSizeListArray& lists, const std::string& where);
  template <class Lists>
  void set_lists(const Lists& lists, const std::string& where);
  std::uint64_t place_of(std::uint64_t row) const;
  void set_values(const arrow::Array& values);
  void require_values(const arrow::Array& values, const std::string& where) const;
  void check_places(const std::string& where) const;

  std::uint64_t rows_ = 0;
  ListValues allowed_;
  // The offsets of copied lists.
  std::shared_ptr<const std::vector<std::int64_t>> own_places_;
  std::shared_ptr<const arrow::Array> own_values_;
  const std::int32_t* narrow_ = nullptr;  // one of the two, or neither where all lists are of `length_`
  const std::int64_t* wide_ = nullptr;
  std::uint64_t length_ = 0;
  std::uint64_t num_values_ = 0;
  const std::byte* values_ = nullptr;
  std::optional<std::uint64_t> first_bit_;  // of booleans, which are bits: where in `values_` they begin
  NpyType type_ = NpyType::int64;
};

}  // namespace d9d
