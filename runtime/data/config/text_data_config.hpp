#pragma once
// The keys of `data` with `source: text`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/sample_unit.hpp"

namespace d9d {

enum class TextFormat { text, jsonl, parquet, arrow, json, csv, tsv };
BOOST_DESCRIBE_ENUM(TextFormat, text, jsonl, parquet, arrow, json, csv, tsv)

enum class DocumentUnit { file, paragraph, line };
BOOST_DESCRIBE_ENUM(DocumentUnit, file, paragraph, line)

struct TextKeys {
  std::vector<std::string> files;
  std::string tokenizer;  // empty in the file: that of the model's folder
  std::int64_t sequence_length = 0;
  std::optional<TextFormat> format;
  std::string text_field = "text";
  DocumentUnit document = DocumentUnit::file;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::int64_t> threads;
};
BOOST_DESCRIBE_STRUCT(TextKeys, (),
                      (files, tokenizer, sequence_length, format, text_field, document, bos_token, eos_token,
                       threads))
constexpr auto keys_of(config::Tag<TextKeys>) {
  using config::Key;
  return std::array{
      Key{"files", "",
          "files, patterns such as text/**/*.txt or part-{00..15}.jsonl.zst (a pattern's files by name) and "
          "folders, those that `datasets` saved among them, read in this order",
          config::required},
      data_keys::tokenizer,
      data_keys::sequence_length,
      Key{"format", "",
          "what the files hold: text, jsonl a JSON object a line, json an array of objects, the rows of "
          "Parquet or Arrow files (those of Hugging Face datasets on disk), csv and tsv with a line of "
          "names; null: what their endings say, else text. All but Parquet and Arrow may be packed: gz, zst, "
          "bz2, xz"},
      Key{"text_field", "", "of rows: the key (column) of the text"},
      Key{"document", "", "with text: what a document is; paragraphs are parted by blank lines"},
      Key{"bos_token", "",
          "the token put before every document, as \"<s>\"; without it none is, whatever the tokenizer puts "
          "before a prompt"},
      Key{"eos_token", "",
          "the token put after every document; without it documents follow each other directly"},
      Key{"threads", "", "threads that tokenise before the first step; null: one a core", config::optional,
          config::at_least(1)},
  };
}

struct TextDataConfig : TextKeys, DocumentKeys {};
BOOST_DESCRIBE_STRUCT(TextDataConfig, (TextKeys, DocumentKeys), ())
constexpr auto keys_of(config::Tag<TextDataConfig>) {
  return config::join(keys_of(config::Tag<TextKeys>{}), keys_of(config::Tag<DocumentKeys>{}));
}

}  // namespace d9d
