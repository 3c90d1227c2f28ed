#pragma once
// Values of Arrow's arrays as JSON, and lists of integers where they lie. Only the other sources of this folder include it.

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

// Texts, numbers, booleans, nulls, lists and structs of them, maps of texts as objects and others as lists of {key, value},
// what a dictionary stands for; of other types the text that Arrow prints. Bytes are taken for text.
RowJson json_value(const arrow::Array& array, std::int64_t row);

// A row as an object.
RowJson record_of(const arrow::RecordBatch& batch, std::int64_t row);

// The text of a row of a column of texts: strings, bytes, dictionaries of them, or nothing but nulls. Empty for a null.
bool is_text(const arrow::DataType& type);
std::string_view text_value(const arrow::Array& array, std::int64_t row);

// What may be in lists of integers; `flags` are booleans as well, read as 0 and 1.
enum class ListValues { integers, flags };

// The lists of an array, [rows]; a null is an empty list, whatever values its places name. Points into the array's
// buffers where its lists follow each other there; else their integers are copied.
class IntegerLists {
 public:
  // Input errors begin with `where`: no lists of such values, nulls among them, or places that are out of order.
  IntegerLists(const arrow::Array& array, const std::string& where,
               ListValues allowed = ListValues::integers);

  std::uint64_t rows() const { return rows_; }
  // Integers before list `row` <= rows() of this array.
  std::uint64_t begin_of(std::uint64_t row) const { return place_of(row) - place_of(0); }
  // `first` as begin_of() counts.
  void read(std::uint64_t first, std::span<std::int64_t> out) const;
  // Whether all that is read here is of these bytes.
  bool is_within(std::span<const std::byte> bytes) const;

 private:
  // Of any kind of list that has nulls, or whose places are in any order.
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
  // Where they are copied.
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
