#pragma once
// Values of Arrow's arrays as JSON, and lists of integers where they lie. Only the other sources of this folder include it.

#include <arrow/array.h>

#include <nlohmann/json.hpp>
#include <span>

#include "runtime/data/npy.hpp"
#include "runtime/data/table/row_json.hpp"

namespace d9d {

// Texts, numbers, booleans, nulls, and lists and structs of them.
// Input error for other types; it begins with `where`.
RowJson json_value(const arrow::Array& array, std::int64_t row, const std::string& where);

// The lists of an array, [rows]. Points into the array's buffers.
class IntegerLists {
 public:
  // Input errors begin with `where`: no lists of integers, nulls among the integers, or places that are out of order.
  IntegerLists(const arrow::Array& array, const std::string& where);

  std::uint64_t rows() const { return rows_; }
  // Integers before list `row` <= rows() of this array.
  std::uint64_t begin_of(std::uint64_t row) const { return place_of(row) - place_of(0); }
  // `first` as begin_of() counts.
  void read(std::uint64_t first, std::span<std::int64_t> out) const;
  // Whether all that is read here is of these bytes.
  bool is_within(std::span<const std::byte> bytes) const;

 private:
  std::uint64_t place_of(std::uint64_t row) const;
  void set_values(const arrow::Array& values, const std::string& where);
  void check_places(const std::string& where) const;

  std::uint64_t rows_ = 0;
  const std::int32_t* narrow_ = nullptr;  // one of the two, or neither where all lists are of `length_`
  const std::int64_t* wide_ = nullptr;
  std::uint64_t length_ = 0;
  std::uint64_t num_values_ = 0;
  const std::byte* values_ = nullptr;
  NpyType type_ = NpyType::int64;
};

}  // namespace d9d
