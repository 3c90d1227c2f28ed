#include "runtime/data/source/text/records.hpp"

#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/data/file/json_rows.hpp"
#include "runtime/data/source/text/unread_columns.hpp"

namespace d9d {
namespace {

std::uint64_t bytes_of(const std::string& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  D9D_REQUIRE(!error, "cannot open {}: {}", file, error.message());
  return bytes;
}

void use_json(const std::string& file, bool is_array, std::uint64_t bytes_before, const UseRecord& use) {
  for_each_json_row(file, is_array, [&](const JsonRow& row) {
    use({row.object, text_of(row.place), bytes_before + row.bytes_read, row.place});
  });
}

void use_table(const std::string& file, TableFormat format, const std::vector<std::string>& columns,
               std::uint64_t bytes_before, const UseRecord& use, UnreadFields* unread) {
  std::optional<UnreadColumns> left;
  if (unread != nullptr) left.emplace(file, format, columns, *unread);
  const auto bytes = static_cast<double>(bytes_of(file));
  for_each_table_record(file, format, columns, [&](const RowJson& record, const TableRow& row) {
    const RowPlace place{file, row.number, false};
    if (left) left->add_row();
    use({record, text_of(place), bytes_before + static_cast<std::uint64_t>(row.read * bytes), place});
  });
}

}  // namespace

std::optional<TableFormat> table_format_of(RowFormat format) {
  return table_format_of(file_format(format));
}

std::vector<std::string> files_of(const std::vector<std::string>& files, std::optional<RowFormat> format,
                                  const std::optional<std::string>& split) {
  const auto wanted = format ? std::optional(file_format(*format)) : std::nullopt;
  return find_data_files({files, wanted, FileFormat::jsonl, split}).paths;
}

void for_each_record(const std::vector<std::string>& files, std::optional<RowFormat> format,
                     const std::vector<std::string>& columns, const UseRecord& use, UnreadFields* unread) {
  const auto wanted = format ? std::optional(file_format(*format)) : std::nullopt;
  const DataFiles found = find_data_files({files, wanted, FileFormat::jsonl});
  std::uint64_t bytes_before = 0;
  for (const std::string& file : found.paths) {
    if (const auto table = table_format_of(found.format)) {
      use_table(file, *table, columns, bytes_before, use, unread);
    } else {
      use_json(file, found.format == FileFormat::json, bytes_before, use);
    }
    bytes_before += bytes_of(file);
  }
}

}  // namespace d9d
