#include "runtime/data/source/records.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/table/table_files.hpp"

namespace d9d {
namespace {

void use_json_lines(const std::vector<std::string>& files, const UseRecord& use) {
  TextDataConfig lines;
  lines.files = files;
  lines.document = DocumentUnit::line;
  for_each_document(lines, [&](const Document& line) {
    if (line.text.find_first_not_of(" \t") == std::string_view::npos) return;
    const RowJson object = RowJson::parse(line.text, nullptr, false);
    D9D_REQUIRE(object.is_object(), "{}: not a JSON object; expected one a line", line.where);
    use({object, line.where, line.bytes_read});
  });
}

}  // namespace

std::optional<TableFormat> table_format_of(RowFormat format) {
  if (format == RowFormat::jsonl) return std::nullopt;
  return format == RowFormat::parquet ? TableFormat::parquet : TableFormat::arrow;
}

std::vector<std::string> files_of(const std::vector<std::string>& files, RowFormat format) {
  const auto table = table_format_of(format);
  if (!table) return expand_files(files, "jsonl");
  return expand_files(files, *table == TableFormat::parquet ? "parquet" : "arrow");
}

void for_each_record(const std::vector<std::string>& files, RowFormat format,
                     const std::vector<std::string>& columns, const UseRecord& use) {
  const std::vector<std::string> names = files_of(files, format);
  const auto table = table_format_of(format);
  if (!table) return use_json_lines(names, use);
  std::uint64_t bytes_before = 0;
  for (const std::string& file : names) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    D9D_REQUIRE(!error, "cannot open {}: {}", file, error.message());
    for_each_table_record(file, *table, columns, [&](const RowJson& record, const TableRow& row) {
      const auto read = static_cast<std::uint64_t>(row.read * static_cast<double>(bytes));
      use({record, fmt::format("{}, row {}", file, row.number), bytes_before + read});
    });
    bytes_before += bytes;
  }
}

}  // namespace d9d
