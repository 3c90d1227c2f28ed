#pragma once
// Reads files of text once, to train a tokenizer and to choose the size of a model.

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
  std::uint64_t paragraphs = 0;  // in files of text, separated by lines without a letter
  std::uint64_t lines = 0;       // those with a letter
};

// `files`: as in data.files. Input errors: the files' own, a text that is not UTF-8 (the error names the
// place), and files without any text.
TextLook look_through(const std::vector<std::string>& files, const std::string& text_field);

// The unit that counts as a document in such text: the largest one of which there are enough to keep some
// out of training. None if even lines are too few.
constexpr std::uint64_t documents_enough = 20;
std::optional<DocumentUnit> document_unit(const TextLook& text);
std::uint64_t documents_of(const TextLook& text, DocumentUnit unit);

}  // namespace d9d
