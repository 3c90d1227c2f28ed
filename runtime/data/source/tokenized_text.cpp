#include "runtime/data/source/tokenized_text.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/source/ordered_work.hpp"

namespace d9d {
namespace {

// A thread gets documents in blocks of about so much text: one line alone is not worth the handing over.
constexpr std::size_t block_bytes = 256 << 10;

struct DocumentBlock {
  struct Part {
    std::size_t text_end;
    Document document;  // without its text
    std::size_t ids_end = 0;
  };
  std::string text;
  std::vector<Part> parts;
  std::vector<std::int32_t> ids;
};

using Scratches = std::vector<std::shared_ptr<Tokenizer::Scratch>>;

void encode_block(const Tokenizer& tokenizer, std::optional<std::int32_t> eos, Tokenizer::Scratch& scratch,
                  DocumentBlock& block) {
  std::size_t begin = 0;
  for (DocumentBlock::Part& part : block.parts) {
    const auto document = std::string_view(block.text).substr(begin, part.text_end - begin);
    try {
      tokenizer.encode(document, false, scratch, block.ids);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), part.document.where());
    }
    if (eos) block.ids.push_back(*eos);
    part.ids_end = block.ids.size();
    begin = part.text_end;
  }
}

void use_block(const DocumentBlock& block, const UseTokens& use) {
  std::size_t begin = 0;
  for (const DocumentBlock::Part& part : block.parts) {
    use({std::span(block.ids).subspan(begin, part.ids_end - begin), part.document.bytes_read,
         part.document.place});
    begin = part.ids_end;
  }
}

}  // namespace

std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer) {
  if (!config.eos_token) return std::nullopt;
  const auto eos = tokenizer.token_id(*config.eos_token);
  D9D_REQUIRE(eos, "data.eos_token = \"{}\" is not a token of {}", *config.eos_token, config.tokenizer);
  return eos;
}

void require_ids_below(const Tokenizer& tokenizer, const std::string& path,
                       std::optional<std::int64_t> ids_below) {
  const std::int64_t size = tokenizer.vocab_size();
  D9D_REQUIRE(
      !ids_below || size <= *ids_below,
      "data.tokenizer: the ids of {} go up to {}, but model_provider.model.vocab_size is {}; raise it "
      "to at least {}",
      path, size - 1, *ids_below, size);
}

void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use) {
  const std::optional<std::int32_t> eos = eos_of(config, tokenizer);
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  Scratches scratches(static_cast<std::size_t>(std::max<std::int64_t>(config.threads.value_or(cores), 1)));
  for (auto& scratch : scratches) scratch = tokenizer.make_scratch();
  std::deque<std::string> files;  // their names, for as long as blocks wait
  OrderedWork threads(scratches.size());
  auto block = std::make_shared<DocumentBlock>();
  const auto hand_over = [&] {
    threads.give([&, block](std::size_t thread) { encode_block(tokenizer, eos, *scratches[thread], *block); },
                 [&, block] { use_block(*block, use); });
    block = std::make_shared<DocumentBlock>();
  };
  for_each_document(config, [&](const Document& document) {
    if (files.empty() || files.back() != document.place.file) files.emplace_back(document.place.file);
    Document part = document;
    part.text = {};
    part.place.file = files.back();
    block->text += document.text;
    block->parts.push_back({block->text.size(), part});
    if (block->text.size() >= block_bytes) hand_over();
  });
  hand_over();
  threads.finish();
}

}  // namespace d9d
