#include "runtime/data/file/file_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Ending {
  std::string_view text;
  FileFormat format;
};
constexpr std::array endings{Ending{".jsonl", FileFormat::jsonl},     Ending{".ndjson", FileFormat::jsonl},
                             Ending{".jsonlines", FileFormat::jsonl}, Ending{".json", FileFormat::json},
                             Ending{".parquet", FileFormat::parquet}, Ending{".pq", FileFormat::parquet},
                             Ending{".arrow", FileFormat::arrow},     Ending{".feather", FileFormat::arrow},
                             Ending{".csv", FileFormat::csv},         Ending{".tsv", FileFormat::tsv}};
constexpr std::array<std::string_view, 6> packings{".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz"};

bool ends_with(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() &&
         std::ranges::equal(path.substr(path.size() - ending.size()), ending,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace

FileFormat file_format(TextFormat format) {
  switch (format) {
    case TextFormat::text:
      return FileFormat::text;
    case TextFormat::jsonl:
      return FileFormat::jsonl;
    case TextFormat::parquet:
      return FileFormat::parquet;
    case TextFormat::arrow:
      return FileFormat::arrow;
    case TextFormat::json:
      return FileFormat::json;
    case TextFormat::csv:
      return FileFormat::csv;
    case TextFormat::tsv:
      return FileFormat::tsv;
  }
  D9D_CHECK(false, "no format of text");
}

FileFormat file_format(RowFormat format) {
  switch (format) {
    case RowFormat::jsonl:
      return FileFormat::jsonl;
    case RowFormat::parquet:
      return FileFormat::parquet;
    case RowFormat::arrow:
      return FileFormat::arrow;
    case RowFormat::json:
      return FileFormat::json;
    case RowFormat::csv:
      return FileFormat::csv;
    case RowFormat::tsv:
      return FileFormat::tsv;
  }
  D9D_CHECK(false, "no format of rows");
}

TextFormat text_format(FileFormat format) {
  for (const TextFormat text : {TextFormat::jsonl, TextFormat::json, TextFormat::parquet, TextFormat::arrow,
                                TextFormat::csv, TextFormat::tsv}) {
    if (file_format(text) == format) return text;
  }
  return TextFormat::text;
}

RowFormat row_format(FileFormat format) {
  for (const RowFormat row : {RowFormat::jsonl, RowFormat::json, RowFormat::parquet, RowFormat::arrow,
                              RowFormat::csv, RowFormat::tsv}) {
    if (file_format(row) == format) return row;
  }
  D9D_CHECK(false, "text has no rows");
}

const char* name_of(FileFormat format) {
  static constexpr std::array names{"text", "jsonl", "json", "parquet", "arrow", "csv", "tsv"};
  return names.at(static_cast<std::size_t>(format));
}

std::optional<TableFormat> table_format_of(FileFormat format) {
  switch (format) {
    case FileFormat::parquet:
      return TableFormat::parquet;
    case FileFormat::arrow:
      return TableFormat::arrow;
    case FileFormat::csv:
      return TableFormat::csv;
    case FileFormat::tsv:
      return TableFormat::tsv;
    default:
      return std::nullopt;
  }
}

std::string_view without_packing(std::string_view path) {
  for (const std::string_view packing : packings) {
    if (ends_with(path, packing)) return path.substr(0, path.size() - packing.size());
  }
  return path;
}

std::optional<FileFormat> format_of_ending(std::string_view path) {
  const std::string_view plain = without_packing(path);
  for (const Ending& ending : endings) {
    if (ends_with(plain, ending.text)) return ending.format;
  }
  return std::nullopt;
}

std::vector<std::string> endings_of(FileFormat format) {
  if (format == FileFormat::text) return {".txt"};
  std::vector<std::string> out;
  for (const Ending& ending : endings) {
    if (ending.format == format) out.emplace_back(ending.text);
  }
  return out;
}

std::optional<FileFormat> format_of_bytes(std::string_view first) {
  if (first.starts_with("PAR1")) return FileFormat::parquet;
  if (first.starts_with("ARROW1") || first.starts_with("\xff\xff\xff\xff")) return FileFormat::arrow;
  const std::size_t letter = first.find_first_not_of(" \t\r\n");
  if (letter == std::string_view::npos) return std::nullopt;
  if (first[letter] == '[') return FileFormat::json;
  if (first[letter] == '{') return FileFormat::jsonl;
  return std::nullopt;
}

}  // namespace d9d
