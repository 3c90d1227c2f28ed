#pragma once
// Describes how a source's token ids are made of its files, for a job's memory or for the cache.

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
  const std::vector<bool>* counted = nullptr;  // as long as `ids`; null: all count
  std::uint64_t bytes_read = 0;                // of all files, up to about the end of this document
  RowPlace place = {};                         // the name of the file lives only during the call
};
using UseMadeDocument = std::function<void(const MadeDocument&)>;

// Shares tokenised documents between two sections of a job: training, and the evaluation on the
// rows that it holds out.
class SharedCorpora {
 public:
  // Returns null if the corpus was never kept, or all sources that used it are gone.
  std::shared_ptr<const TokenCorpus> find(const std::string& key) const;
  void keep(const std::string& key, const std::shared_ptr<const TokenCorpus>& corpus);

 private:
  std::map<std::string, std::weak_ptr<const TokenCorpus>> corpora_;
};

struct CorpusWishes {
  bool with_places = false;  // made ids know their rows (TokenCorpus::place_of); takes memory
  std::shared_ptr<SharedCorpora> share{};
};

struct TokenRecipe {
  std::optional<std::string> cache;  // data.cache
  std::vector<std::string> files;
  config::Json keys;                        // what else the ids depend on, with the tokenizer's digest
  std::int64_t vocab_size = 0;              // made ids are below this
  std::optional<std::int64_t> ids_below{};  // ids of the cache are checked against it when read
  bool some_count = false;                  // only some tokens count in the loss
  RowChoiceConfig rows{};                   // which documents the job reads; the cache has all
  CorpusWishes wishes{};
  // Reads everything, in order. Objects that it uses must live as long as the recipe. Errors:
  // those of the source.
  std::function<void(const UseMadeDocument&)> make{};
};

std::uint64_t bytes_of_files(const TokenRecipe& recipe);  // of the files that exist

// Makes the documents and keeps them in memory, with a progress line every ten seconds. They may be those that another
// section of the job has made.
std::shared_ptr<const TokenCorpus> made_corpus(const TokenRecipe& recipe, const Clock& clock);

}  // namespace d9d
