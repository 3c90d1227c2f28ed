#pragma once
// Where a row of a file is.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace d9d {

struct RowPlace {
  std::string_view file;
  std::uint64_t number = 0;  // of a line from 1; else of a row from 0
  bool is_line = false;
};

inline std::string text_of(const RowPlace& place) {  // "notes.jsonl:12", "notes.parquet, row 11"
  return place.is_line ? fmt::format("{}:{}", place.file, place.number)
                       : fmt::format("{}, row {}", place.file, place.number);
}

}  // namespace d9d
