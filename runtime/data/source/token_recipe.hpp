#pragma once
// How the token ids of a source are made of its files, whether for a job's memory or for the cache.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

struct MadeDocument {
  std::span<const std::int32_t> ids;           // live only during the call
  const std::vector<bool>* counted = nullptr;  // as long; null: all count
  std::uint64_t bytes_read = 0;                // of all files, up to about its end
  RowPlace place = {};                         // its file's name lives during the call
};
using UseMadeDocument = std::function<void(const MadeDocument&)>;

// What is tokenised once for two sections of one job: training and the rows that it holds out for evaluation.
class SharedCorpora {
 public:
  // Null where the corpus was never kept, or all its sources are gone.
  std::shared_ptr<const TokenCorpus> find(const std::string& key) const;
  void keep(const std::string& key, const std::shared_ptr<const TokenCorpus>& corpus);

 private:
  std::map<std::string, std::weak_ptr<const TokenCorpus>> corpora_;
};

struct CorpusWishes {
  bool with_places =
      false;  // ids that are made here know their rows (TokenCorpus::place_of); it takes memory
  std::shared_ptr<SharedCorpora> share{};
};

struct TokenRecipe {
  std::optional<std::string> cache;  // data.cache
  std::vector<std::string> files;
  config::Json keys;                        // what else the ids depend on, the tokenizer's digest included
  std::int64_t vocab_size = 0;              // made ids are below this
  std::optional<std::int64_t> ids_below{};  // those of the cache are to be checked when they are read
  bool some_count = false;                  // not all tokens count in the loss
  RowChoiceConfig rows{};                   // which documents the job reads; the cache has all
  CorpusWishes wishes{};
  // Reads everything, in order. What it uses lives as long as the recipe. Errors are those of the source.
  std::function<void(const UseMadeDocument&)> make{};
};

std::uint64_t bytes_of_files(const TokenRecipe& recipe);  // those that are there

// What the cache has, mapped; else made here and kept in memory, with a warning where there is a cache without them and a
// line every ten seconds that says how far it is. Of these, the documents of `recipe.rows`.
std::shared_ptr<const TokenCorpus> corpus_of(const TokenRecipe& recipe, const Clock& clock = SystemClock());

}  // namespace d9d
