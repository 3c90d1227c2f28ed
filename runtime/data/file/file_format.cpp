#include "runtime/data/file/file_format.hpp"

#include <algorithm>
#include <array>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>
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

// The format of another list that has the same name; none: it has none.
template <class To, class From>
std::optional<To> namesake(From format) {
  const std::string_view name = boost::describe::enum_to_string(format, "");
  std::optional<To> to;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<To>>([&](auto each) {
    if (each.name == name) to = each.value;
  });
  return to;
}

}  // namespace

FileFormat file_format(TextFormat format) {
  return namesake<FileFormat>(format).value();
}

FileFormat file_format(RowFormat format) {
  return namesake<FileFormat>(format).value();
}

TextFormat text_format(FileFormat format) {
  return namesake<TextFormat>(format).value();
}

RowFormat row_format(FileFormat format) {
  const std::optional<RowFormat> row = namesake<RowFormat>(format);
  D9D_CHECK(row, "text has no rows");
  return *row;
}

const char* name_of(FileFormat format) {
  return boost::describe::enum_to_string(format, "");
}

std::optional<TableFormat> table_format_of(FileFormat format) {
  return namesake<TableFormat>(format);
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
