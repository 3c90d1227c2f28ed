#include "runtime/data/table/arrow_values.hpp"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

#include <functional>
#include <optional>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using Json = RowJson;

template <class Array>
const Array& as(const arrow::Array& array) {
  return static_cast<const Array&>(array);
}

template <class Lists>
Json json_list(const Lists& lists, std::int64_t row, const std::string& where) {
  Json out = Json::array();
  for (std::int64_t i = 0; i < lists.value_length(row); ++i) {
    out.push_back(json_value(*lists.values(), lists.value_offset(row) + i, where));
  }
  return out;
}

Json json_struct(const arrow::StructArray& array, std::int64_t row, const std::string& where) {
  Json out = Json::object();
  for (int i = 0; i < array.num_fields(); ++i) {
    out[array.struct_type()->field(i)->name()] = json_value(*array.field(i), row, where);
  }
  return out;
}

std::optional<NpyType> integers_of(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
      return NpyType::int8;
    case arrow::Type::INT16:
      return NpyType::int16;
    case arrow::Type::INT32:
      return NpyType::int32;
    case arrow::Type::INT64:
      return NpyType::int64;
    case arrow::Type::UINT8:
      return NpyType::uint8;
    case arrow::Type::UINT16:
      return NpyType::uint16;
    case arrow::Type::UINT32:
      return NpyType::uint32;
    case arrow::Type::UINT64:
      return NpyType::uint64;
    default:
      return std::nullopt;
  }
}

const std::byte* values_of(const arrow::Array& array, std::size_t size) {
  const auto& buffer = array.data()->buffers[1];
  if (!buffer) return nullptr;
  return reinterpret_cast<const std::byte*>(buffer->data()) + static_cast<std::size_t>(array.offset()) * size;
}

Json json_integer(const arrow::Array& array, NpyType type, std::int64_t row) {
  const std::size_t size = bytes_of(type);
  std::int64_t value = 0;
  read_integers(type, values_of(array, size) + static_cast<std::size_t>(row) * size, {&value, 1});
  return type == NpyType::uint64 ? Json(static_cast<std::uint64_t>(value)) : Json(value);
}

}  // namespace

Json json_value(const arrow::Array& array, std::int64_t row, const std::string& where) {
  if (array.IsNull(row)) return nullptr;
  if (const auto type = integers_of(*array.type())) return json_integer(array, *type, row);
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return as<arrow::StringArray>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
      return as<arrow::LargeStringArray>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
      return as<arrow::StringViewArray>(array).GetView(row);
    case arrow::Type::BOOL:
      return as<arrow::BooleanArray>(array).Value(row);
    case arrow::Type::FLOAT:
      return as<arrow::FloatArray>(array).Value(row);
    case arrow::Type::DOUBLE:
      return as<arrow::DoubleArray>(array).Value(row);
    case arrow::Type::LIST:
      return json_list(as<arrow::ListArray>(array), row, where);
    case arrow::Type::LARGE_LIST:
      return json_list(as<arrow::LargeListArray>(array), row, where);
    case arrow::Type::FIXED_SIZE_LIST:
      return json_list(as<arrow::FixedSizeListArray>(array), row, where);
    case arrow::Type::STRUCT:
      return json_struct(as<arrow::StructArray>(array), row, where);
    default:
      throw Error(ErrorKind::input,
                  fmt::format("{}: values of the type {}, expected texts, numbers, lists or structs", where,
                              array.type()->ToString()));
  }
}

IntegerLists::IntegerLists(const arrow::Array& array, const std::string& where)
    : rows_(static_cast<std::uint64_t>(array.length())) {
  switch (array.type_id()) {
    case arrow::Type::LIST:
      narrow_ = as<arrow::ListArray>(array).raw_value_offsets();
      set_values(*as<arrow::ListArray>(array).values(), where);
      break;
    case arrow::Type::LARGE_LIST:
      wide_ = as<arrow::LargeListArray>(array).raw_value_offsets();
      set_values(*as<arrow::LargeListArray>(array).values(), where);
      break;
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& lists = as<arrow::FixedSizeListArray>(array);
      D9D_REQUIRE(lists.null_count() == 0, "{}: a list is null", where);
      length_ = static_cast<std::uint64_t>(lists.value_length());
      set_values(*lists.values()->Slice(lists.value_offset(0)), where);
      break;
    }
    default:
      throw Error(ErrorKind::input, fmt::format("{}: a column of the type {}, expected lists of integers",
                                                where, array.type()->ToString()));
  }
  if (rows_ > 0) check_places(where);
}

void IntegerLists::set_values(const arrow::Array& values, const std::string& where) {
  const auto type = integers_of(*values.type());
  D9D_REQUIRE(type, "{}: lists of the type {}, expected integers", where, values.type()->ToString());
  D9D_REQUIRE(values.null_count() == 0, "{}: a null among the integers of a list", where);
  type_ = *type;
  num_values_ = static_cast<std::uint64_t>(values.length());
  values_ = values_of(values, bytes_of(type_));
}

std::uint64_t IntegerLists::place_of(std::uint64_t row) const {
  if (narrow_) return static_cast<std::uint64_t>(narrow_[row]);
  return wide_ ? static_cast<std::uint64_t>(wide_[row]) : row * length_;
}

void IntegerLists::check_places(const std::string& where) const {
  std::uint64_t last = place_of(0);
  for (std::uint64_t row = 1; row <= rows_; ++row) {
    const std::uint64_t place = place_of(row);
    D9D_REQUIRE(place >= last && place <= num_values_,
                "{}: the list of row {} is outside the column's values", where, row - 1);
    last = place;
  }
}

bool IntegerLists::is_within(std::span<const std::byte> bytes) const {
  const auto has = [&](const void* at) {
    const auto* place = static_cast<const std::byte*>(at);
    return at == nullptr ||
           (std::greater_equal<>()(place, bytes.data()) && std::less<>()(place, bytes.data() + bytes.size()));
  };
  return has(values_) && has(narrow_) && has(wide_);
}

void IntegerLists::read(std::uint64_t first, std::span<std::int64_t> out) const {
  D9D_CHECK(place_of(0) + first + out.size() <= num_values_, "integers {} to {} of {}", first,
            first + out.size(), num_values_);
  if (out.empty()) return;
  read_integers(type_, values_ + (place_of(0) + first) * bytes_of(type_), out);
}

}  // namespace d9d
