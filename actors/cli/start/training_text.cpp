#include "actors/cli/start/training_text.hpp"

#include <fmt/ranges.h>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text/documents.hpp"

namespace d9d {
namespace {

void count_parts(std::string_view text, TextLook& look) {
  bool in_paragraph = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const bool is_blank =
        text.substr(begin, end - begin).find_first_not_of(" \t\r") == std::string_view::npos;
    look.lines += is_blank ? 0 : 1;
    look.paragraphs += !is_blank && !in_paragraph ? 1 : 0;
    in_paragraph = !is_blank;
    begin = end + 1;
  }
}

}  // namespace

TextLook look_through(const std::vector<std::string>& files, const std::string& text_field) {
  TextLook look;
  const TextDataConfig found = with_found_files({{.files = files, .text_field = text_field}, {}});
  look.has_rows = found.format != TextFormat::text;
  for_each_document(found, [&](const Document& document) {
    try {
      look.words.add(document.text);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), document.where());
    }
    ++look.documents;
    if (!look.has_rows) count_parts(document.text, look);
  });
  D9D_REQUIRE(!look.words.counts().empty(), "{}: there is no text in it", fmt::join(files, ", "));
  return look;
}

std::uint64_t documents_of(const TextLook& text, DocumentUnit unit) {
  if (text.has_rows || unit == DocumentUnit::file) return text.documents;
  return unit == DocumentUnit::paragraph ? text.paragraphs : text.lines;
}

std::optional<DocumentUnit> document_unit(const TextLook& text) {
  for (const DocumentUnit unit : {DocumentUnit::file, DocumentUnit::paragraph, DocumentUnit::line}) {
    if (documents_of(text, unit) >= documents_enough) return unit;
  }
  return std::nullopt;
}

}  // namespace d9d
