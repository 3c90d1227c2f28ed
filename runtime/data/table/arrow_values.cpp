#include "runtime/data/table/arrow_values.hpp"

#include <arrow/array/array_base.h>
#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/extension_type.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <functional>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using Json = RowJson;

template <class Array>
const Array& as(const arrow::Array& array) {
  return static_cast<const Array&>(array);
}

template <class Lists>
Json json_list(const Lists& lists, std::int64_t row) {
  Json out = Json::array();
  for (std::int64_t i = 0; i < lists.value_length(row); ++i) {
    out.push_back(json_value(*lists.values(), lists.value_offset(row) + i));
  }
  return out;
}

Json json_struct(const arrow::StructArray& array, std::int64_t row) {
  Json out = Json::object();
  for (int i = 0; i < array.num_fields(); ++i) {
    out[array.struct_type()->field(i)->name()] = json_value(*array.field(i), row);
  }
  return out;
}

Json json_map(const arrow::MapArray& array, std::int64_t row) {
  const bool has_names = is_text(*array.map_type()->key_type());
  Json out = has_names ? Json::object() : Json::array();
  for (std::int64_t i = array.value_offset(row); i < array.value_offset(row) + array.value_length(row); ++i) {
    Json value = json_value(*array.items(), i);
    if (has_names) {
      out[std::string(text_value(*array.keys(), i))] = std::move(value);
    } else {
      out.push_back({{"key", json_value(*array.keys(), i)}, {"value", std::move(value)}});
    }
  }
  return out;
}

Json json_dictionary(const arrow::DictionaryArray& array, std::int64_t row) {
  return json_value(*array.dictionary(), array.GetValueIndex(row));
}

// What Arrow prints: "2024-01-02 03:04:05", "12.50".
Json json_text(const arrow::Array& array, std::int64_t row) {
  const auto scalar = array.GetScalar(row);
  if (!scalar.ok()) return nullptr;
  return scalar.ValueUnsafe()->is_valid ? Json(scalar.ValueUnsafe()->ToString()) : Json(nullptr);
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

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::NA:
      return true;
    case arrow::Type::DICTIONARY:
      return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

std::string_view text_value(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return {};
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return as<arrow::BinaryArray>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return as<arrow::LargeBinaryArray>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return as<arrow::BinaryViewArray>(array).GetView(row);
    case arrow::Type::DICTIONARY: {
      const auto& texts = as<arrow::DictionaryArray>(array);
      return text_value(*texts.dictionary(), texts.GetValueIndex(row));
    }
    default:
      return {};
  }
}

Json json_value(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return nullptr;
  if (const auto type = integers_of(*array.type())) return json_integer(array, *type, row);
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
      return text_value(array, row);
    case arrow::Type::DICTIONARY:
      return json_dictionary(as<arrow::DictionaryArray>(array), row);
    case arrow::Type::BOOL:
      return as<arrow::BooleanArray>(array).Value(row);
    case arrow::Type::FLOAT:
      return as<arrow::FloatArray>(array).Value(row);
    case arrow::Type::DOUBLE:
      return as<arrow::DoubleArray>(array).Value(row);
    case arrow::Type::LIST:
      return json_list(as<arrow::ListArray>(array), row);
    case arrow::Type::LARGE_LIST:
      return json_list(as<arrow::LargeListArray>(array), row);
    case arrow::Type::LIST_VIEW:
      return json_list(as<arrow::ListViewArray>(array), row);
    case arrow::Type::LARGE_LIST_VIEW:
      return json_list(as<arrow::LargeListViewArray>(array), row);
    case arrow::Type::FIXED_SIZE_LIST:
      return json_list(as<arrow::FixedSizeListArray>(array), row);
    case arrow::Type::STRUCT:
      return json_struct(as<arrow::StructArray>(array), row);
    case arrow::Type::MAP:
      return json_map(as<arrow::MapArray>(array), row);
    case arrow::Type::EXTENSION:
      return json_value(*as<arrow::ExtensionArray>(array).storage(), row);
    default:
      return json_text(array, row);
  }
}

Json record_of(const arrow::RecordBatch& batch, std::int64_t row) {
  Json record = Json::object();
  for (int column = 0; column < batch.num_columns(); ++column)
    record[batch.column_name(column)] = json_value(*batch.column(column), row);
  return record;
}

IntegerLists::IntegerLists(const arrow::Array& array, const std::string& where, ListValues allowed)
    : rows_(static_cast<std::uint64_t>(array.length())), allowed_(allowed) {
  switch (array.type_id()) {
    case arrow::Type::LIST:
      narrow_ = as<arrow::ListArray>(array).raw_value_offsets();
      set_lists(as<arrow::ListArray>(array), where);
      return;
    case arrow::Type::LARGE_LIST:
      wide_ = as<arrow::LargeListArray>(array).raw_value_offsets();
      set_lists(as<arrow::LargeListArray>(array), where);
      return;
    case arrow::Type::LIST_VIEW:
      copy_lists(as<arrow::ListViewArray>(array), where);
      return;
    case arrow::Type::LARGE_LIST_VIEW:
      copy_lists(as<arrow::LargeListViewArray>(array), where);
      return;
    case arrow::Type::FIXED_SIZE_LIST:
      set_fixed(as<arrow::FixedSizeListArray>(array), where);
      return;
    default:
      throw Error(ErrorKind::input, fmt::format("{}: a column of the type {}, expected lists of integers",
                                                where, array.type()->ToString()));
  }
}

void IntegerLists::require_values(const arrow::Array& values, const std::string& where) const {
  const bool flags = allowed_ == ListValues::flags && values.type_id() == arrow::Type::BOOL;
  D9D_REQUIRE(flags || integers_of(*values.type()), "{}: lists of the type {}, expected integers{}", where,
              values.type()->ToString(), allowed_ == ListValues::flags ? " or booleans" : "");
  D9D_REQUIRE(values.null_count() == 0, "{}: a null among the {} of a list", where,
              flags ? "booleans" : "integers");
}

void IntegerLists::set_fixed(const arrow::FixedSizeListArray& lists, const std::string& where) {
  if (lists.null_count() > 0) return copy_lists(lists, where);
  length_ = static_cast<std::uint64_t>(lists.value_length());
  require_values(*lists.values()->Slice(lists.value_offset(0), lists.length() * lists.value_length()), where);
  set_values(*lists.values()->Slice(lists.value_offset(0)));
}

template <class Lists>
void IntegerLists::set_lists(const Lists& lists, const std::string& where) {
  num_values_ = static_cast<std::uint64_t>(lists.values()->length());
  if (rows_ > 0) check_places(where);
  if (lists.null_count() > 0) return copy_lists(lists, where);
  const auto begin = static_cast<std::int64_t>(place_of(0));
  require_values(*lists.values()->Slice(begin, static_cast<std::int64_t>(place_of(rows_)) - begin), where);
  set_values(*lists.values());
}

template <class Lists>
void IntegerLists::copy_lists(const Lists& lists, const std::string& where) {
  narrow_ = nullptr;
  wide_ = nullptr;
  for (std::int64_t row = 0; row < lists.length(); ++row) {
    const std::int64_t begin = lists.value_offset(row), length = lists.value_length(row);
    D9D_REQUIRE(begin >= 0 && length >= 0 && begin <= lists.values()->length() - length,
                "{}: the list of row {} is outside the column's values", where, row);
  }
  const auto flat = lists.Flatten();
  D9D_REQUIRE(flat.ok(), "{}: {}", where, flat.status().message());
  auto places = std::make_shared<std::vector<std::int64_t>>(1, 0);
  for (std::int64_t row = 0; row < lists.length(); ++row) {
    places->push_back(places->back() +
                      (lists.IsNull(row) ? 0 : static_cast<std::int64_t>(lists.value_length(row))));
  }
  own_values_ = flat.ValueUnsafe();
  D9D_CHECK(places->back() == own_values_->length(), "{} values in lists of {}", own_values_->length(),
            places->back());
  own_places_ = std::move(places);
  wide_ = own_places_->data();
  require_values(*own_values_, where);
  set_values(*own_values_);
}

void IntegerLists::set_values(const arrow::Array& values) {
  num_values_ = static_cast<std::uint64_t>(values.length());
  if (values.type_id() == arrow::Type::BOOL) {
    first_bit_ = static_cast<std::uint64_t>(values.offset());
    const auto& buffer = values.data()->buffers[1];
    values_ = buffer ? reinterpret_cast<const std::byte*>(buffer->data()) : nullptr;
    return;
  }
  type_ = integers_of(*values.type()).value();
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
  if (first_bit_) {
    const auto* const bits = reinterpret_cast<const std::uint8_t*>(values_);
    const std::uint64_t begin = *first_bit_ + place_of(0) + first;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = arrow::bit_util::GetBit(bits, static_cast<std::int64_t>(begin + i)) ? 1 : 0;
    return;
  }
  read_integers(type_, values_ + (place_of(0) + first) * bytes_of(type_), out);
}

}  // namespace d9d
