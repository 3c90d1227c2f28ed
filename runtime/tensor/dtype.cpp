#include "runtime/tensor/dtype.hpp"

#include <array>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::int64_t size;
  std::string_view name;
  std::string_view safetensors;
};
constexpr std::array dtype_rows{
    DtypeRow{Dtype::float64, 8, "float64", "F64"}, DtypeRow{Dtype::float32, 4, "float32", "F32"},
    DtypeRow{Dtype::float16, 2, "float16", "F16"}, DtypeRow{Dtype::bfloat16, 2, "bfloat16", "BF16"},
    DtypeRow{Dtype::int64, 8, "int64", "I64"},     DtypeRow{Dtype::int32, 4, "int32", "I32"},
    DtypeRow{Dtype::int16, 2, "int16", "I16"},     DtypeRow{Dtype::int8, 1, "int8", "I8"},
    DtypeRow{Dtype::uint8, 1, "uint8", "U8"},      DtypeRow{Dtype::boolean, 1, "bool", "BOOL"},
};

const DtypeRow& row_of(Dtype dtype) {
  for (const DtypeRow& row : dtype_rows) {
    if (row.dtype == dtype) return row;
  }
  D9D_CHECK(false, "element type {} has no row in the table", static_cast<int>(dtype));
}

std::optional<Dtype> dtype_by(std::string_view name, std::string_view DtypeRow::*column) {
  for (const DtypeRow& row : dtype_rows) {
    if (row.*column == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t size_of(Dtype dtype) {
  return row_of(dtype).size;
}

std::string_view name_of(Dtype dtype) {
  return row_of(dtype).name;
}

std::string_view safetensors_name(Dtype dtype) {
  return row_of(dtype).safetensors;
}

std::optional<Dtype> dtype_named(std::string_view name) {
  return dtype_by(name, &DtypeRow::name);
}

std::optional<Dtype> dtype_of_safetensors(std::string_view name) {
  return dtype_by(name, &DtypeRow::safetensors);
}

}  // namespace d9d
