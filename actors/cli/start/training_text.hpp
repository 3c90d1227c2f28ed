#pragma once
// Files of text, looked through once: for a tokenizer and for the size of a model.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/tokenizer/train/word_counts.hpp"

namespace d9d {

struct TextLook {
  WordCounts words;
  bool has_rows = false;         // rows of tables or JSON, each a document
  std::uint64_t documents = 0;   // rows, or files
  std::uint64_t paragraphs = 0;  // of files of text: parted by lines without a letter
  std::uint64_t lines = 0;       // that have one
};

// `files` as data.files takes them. Input errors: those of the files, a text that is not UTF-8 (its place is named),
// and files without any text in them.
TextLook look_through(const std::vector<std::string>& files, const std::string& text_field);

// What a document of such text is: the largest unit of which there are enough to hold some out of training; none where
// even lines are too few.
constexpr std::uint64_t documents_enough = 20;
std::optional<DocumentUnit> document_unit(const TextLook& text);
std::uint64_t documents_of(const TextLook& text, DocumentUnit unit);

}  // namespace d9d
