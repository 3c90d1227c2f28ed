#include "runtime/data/source/documents.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/mapped_file.hpp"
#include "runtime/data/table/table_files.hpp"
#include "runtime/data/table/tables.hpp"

namespace d9d {
namespace {

constexpr std::string_view blank_characters = " \t\r";

// The document of one file that is being read: what they all need to say where they are.
struct Place {
  const std::string& file;
  std::string_view text;           // of the file
  std::uint64_t bytes_before = 0;  // of the files before it
  const UseDocument& use;

  // `read`: where in the file's text the document ends.
  void say(std::string_view document, std::string where, const char* read) const {
    use({document, std::move(where), bytes_before + static_cast<std::uint64_t>(read - text.data())});
  }
};

// Calls with each line without its end (\n or \r\n), and its number from 1.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line, number);
    begin = end + 1;
  }
}

const char* end_of(std::string_view text) {
  return text.data() + text.size();
}

void use_file(const Place& place) {
  if (!place.text.empty()) place.say(place.text, place.file, end_of(place.text));
}

void use_lines(const Place& place) {
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (!line.empty()) place.say(line, fmt::format("{}:{}", place.file, number), end_of(line));
  });
}

void use_paragraphs(const Place& place) {
  std::string_view paragraph;
  std::size_t first = 0;
  const auto flush = [&] {
    if (!paragraph.empty()) place.say(paragraph, fmt::format("{}:{}", place.file, first), end_of(paragraph));
    paragraph = {};
  };
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return flush();
    if (paragraph.empty()) {
      first = number;
      paragraph = line;
    }
    paragraph = {paragraph.data(), static_cast<std::size_t>(end_of(line) - paragraph.data())};
  });
  flush();
}

void use_jsonl(const Place& place, const std::string& field) {
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return;
    const std::string where = fmt::format("{}:{}", place.file, number);
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    D9D_REQUIRE(object.is_object(), "{}: not a JSON object; expected one a line, as in {{\"{}\": \"...\"}}",
                where, field);
    const auto found = object.find(field);
    D9D_REQUIRE(found != object.end() && found->is_string(),
                "{}: no text under \"{}\"; name the key with data.text_field", where, field);
    const auto& document = found->get_ref<const std::string&>();
    if (!document.empty()) place.say(document, where, end_of(line));
  });
}

struct TablePlace {
  const std::string& file;
  const std::uint64_t bytes_before;
  const UseDocument& use;
};

// How many bytes the file has.
std::uint64_t use_table(const TablePlace& place, TableFormat format, const std::string& column) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(place.file, error);
  D9D_REQUIRE(!error, "cannot open {}: {}", place.file, error.message());
  for_each_table_text(place.file, format, column, [&](std::string_view text, const TableRow& row) {
    if (text.empty()) return;
    const auto read = static_cast<std::uint64_t>(row.read * static_cast<double>(bytes));
    place.use({text, fmt::format("{}, row {}", place.file, row.number), place.bytes_before + read});
  });
  return bytes;
}

std::optional<TableFormat> table_format_of(TextFormat format) {
  if (format == TextFormat::parquet) return TableFormat::parquet;
  if (format == TextFormat::arrow) return TableFormat::arrow;
  return std::nullopt;
}

// Of the files that a folder is asked for; plain text has no ending of its own.
std::string ending_of(TextFormat format) {
  switch (format) {
    case TextFormat::text:
      return {};
    case TextFormat::jsonl:
      return "jsonl";
    case TextFormat::parquet:
      return "parquet";
    case TextFormat::arrow:
      return "arrow";
  }
  return {};
}

void use_text(const Place& place, DocumentUnit unit) {
  switch (unit) {
    case DocumentUnit::file:
      return use_file(place);
    case DocumentUnit::paragraph:
      return use_paragraphs(place);
    case DocumentUnit::line:
      return use_lines(place);
  }
}

}  // namespace

std::vector<std::string> files_of(const TextDataConfig& config) {
  return expand_files(config.files, ending_of(config.format));
}

void for_each_document(const TextDataConfig& config, const UseDocument& use) {
  std::uint64_t bytes_before = 0;
  for (const std::string& name : files_of(config)) {
    if (const auto table = table_format_of(config.format)) {
      bytes_before += use_table({name, bytes_before, use}, *table, config.text_field);
      continue;
    }
    const MappedFile file(name);
    const Place place{name, file.text(), bytes_before, use};
    if (config.format == TextFormat::jsonl) {
      use_jsonl(place, config.text_field);
    } else {
      use_text(place, config.document);
    }
    bytes_before += file.bytes().size();
  }
}

}  // namespace d9d
