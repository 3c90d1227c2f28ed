#include "runtime/data/source/text/tokenized_text.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/base/host/cpu_quota.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/text/ordered_work.hpp"
#include "runtime/tokenizer/text_ends.hpp"

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

struct Encoding {
  const Tokenizer& tokenizer;
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
};

void encode_block(const Encoding& how, Tokenizer::Scratch& scratch, DocumentBlock& block) {
  std::size_t begin = 0;
  for (DocumentBlock::Part& part : block.parts) {
    const auto document = std::string_view(block.text).substr(begin, part.text_end - begin);
    if (how.bos) block.ids.push_back(*how.bos);
    try {
      how.tokenizer.encode(document, false, scratch, block.ids);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), part.document.where());
    }
    if (how.eos) block.ids.push_back(*how.eos);
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

std::optional<std::int32_t> id_of(const char* key, const std::optional<std::string>& token,
                                  const TextDataConfig& config, const Tokenizer& tokenizer) {
  if (!token) return std::nullopt;
  const auto id = tokenizer.token_id(*token);
  D9D_REQUIRE(id, "data.{} = \"{}\" is not a token of {}", key, *token, config.tokenizer);
  return id;
}

}  // namespace

void warn_of_no_begin(const Tokenizer& tokenizer, const char* key, std::string_view begin) {
  const std::vector<std::string> tokens = tokens_around_text(tokenizer).before;
  if (tokens.size() != 1 || begin.starts_with(tokens.front())) return;
  log::warn(
      "the tokenizer puts \"{0}\" before each prompt, and the texts of the data begin without it, so the "
      "model would be trained on other texts than it is asked; set data.{1}: \"{0}\"",
      tokens.front(), key);
}

std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer) {
  return id_of("eos_token", config.eos_token, config, tokenizer);
}

void require_ids_below(std::span<const std::int32_t> ids, const Tokenizer& tokenizer,
                       const std::string& where, std::int64_t ids_below) {
  const auto found = std::ranges::find_if(ids, [&](std::int32_t id) { return id >= ids_below; });
  D9D_REQUIRE(
      found == ids.end(),
      "{}: the token \"{}\" has the id {}, but the ids of the model's vocabulary are below {}; take it "
      "out of the text, or give the model rows for such tokens (model_provider.model.vocab_size: {})",
      where, tokenizer.token_text(*found).value_or("?"), *found, ids_below, tokenizer.vocab_size());
}

TokenRecipe checked_recipe(TokenRecipe recipe, const Tokenizer& tokenizer,
                           std::optional<std::int64_t> ids_below) {
  if (!ids_below || tokenizer.vocab_size() <= *ids_below) return recipe;
  recipe.ids_below = ids_below;
  recipe.make = [make = recipe.make, &tokenizer, below = *ids_below](const UseMadeDocument& use) {
    make([&](const MadeDocument& document) {
      const bool fits = std::ranges::none_of(document.ids, [&](std::int32_t id) { return id >= below; });
      if (!fits) require_ids_below(document.ids, tokenizer, text_of(document.place), below);
      use(document);
    });
  };
  return recipe;
}

void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use) {
  const Encoding how{tokenizer, id_of("bos_token", config.bos_token, config, tokenizer),
                     eos_of(config, tokenizer)};
  warn_of_no_begin(tokenizer, "bos_token", config.bos_token.value_or(""));
  const std::int64_t cores = usable_cores();
  Scratches scratches(static_cast<std::size_t>(std::max<std::int64_t>(config.threads.value_or(cores), 1)));
  for (auto& scratch : scratches) scratch = tokenizer.make_scratch();
  std::deque<std::string> files;  // their names, for as long as blocks wait
  OrderedWork threads(scratches.size());
  auto block = std::make_shared<DocumentBlock>();
  const auto hand_over = [&] {
    threads.give([&, block](std::size_t thread) { encode_block(how, *scratches[thread], *block); },
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
