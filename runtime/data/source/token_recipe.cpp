#include "runtime/data/source/token_recipe.hpp"

#include "runtime/base/log.hpp"
#include "runtime/data/corpus/counted_corpus.hpp"
#include "runtime/data/source/token_cache.hpp"

namespace d9d {
namespace {

std::shared_ptr<const TokenCorpus> made_in_memory(const TokenRecipe& recipe) {
  if (!recipe.some_count) {
    auto corpus = std::make_shared<MemoryCorpus>(recipe.vocab_size);
    recipe.make([&](const MadeDocument& document) { corpus->add_document(document.ids); });
    return corpus;
  }
  auto corpus = std::make_shared<CountedCorpus>(recipe.vocab_size);
  recipe.make([&](const MadeDocument& document) { corpus->add_document(document.ids, *document.counted); });
  return corpus;
}

}  // namespace

std::shared_ptr<const TokenCorpus> corpus_of(const TokenRecipe& recipe) {
  if (auto cached = find_tokens(recipe)) return cached;
  if (recipe.cache) {
    log::warn(
        "data.cache: {} has no tokens of these files, so they are made now and kept in memory; "
        "`d9d-node data prepare` makes them once for all runs",
        *recipe.cache);
  }
  return made_in_memory(recipe);
}

}  // namespace d9d
