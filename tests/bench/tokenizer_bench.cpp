// tokenizer_bench TOKENIZER FILE THREADS: tokenises the file, a document a line, in the way of a job whose
// data is text. Prints one line of JSON: seconds (reading the file's lines is in them, reading the tokenizer
// is not), tokens, and a checksum of the ids.
#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "runtime/data/source/text/tokenized_text.hpp"

namespace d9d {
namespace {

void measure(const char* tokenizer_file, const char* text_file, std::int64_t threads) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_file);
  TextDataConfig config;
  config.files = {text_file};
  config.document = DocumentUnit::line;
  config.threads = threads;
  std::uint64_t tokens = 0;
  uLong checksum = 0;
  const auto begin = std::chrono::steady_clock::now();
  tokenize_documents(config, tokenizer, [&](const TokenizedDocument& document) {
    const std::span<const std::int32_t> ids = document.ids;
    tokens += ids.size();
    checksum =
        crc32(checksum, reinterpret_cast<const Bytef*>(ids.data()), static_cast<uInt>(ids.size_bytes()));
  });
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  fmt::print("{{\"seconds\": {:.6f}, \"tokens\": {}, \"checksum\": {}}}\n", time.count(), tokens, checksum);
}

}  // namespace
}  // namespace d9d

int main(int argc, char** argv) {
  std::int64_t threads = 0;
  if (argc != 4 || std::from_chars(argv[3], argv[3] + std::strlen(argv[3]), threads).ec != std::errc()) {
    std::fputs("usage: tokenizer_bench TOKENIZER FILE THREADS\n", stderr);
    return 2;
  }
  try {
    d9d::measure(argv[1], argv[2], threads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
