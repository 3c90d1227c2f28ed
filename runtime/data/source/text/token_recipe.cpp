#include "runtime/data/source/text/token_recipe.hpp"

#include <filesystem>

#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/corpus/counted_corpus.hpp"

namespace d9d {
namespace {

constexpr std::int64_t line_period_ns = 10'000'000'000;

class SaysHowFar {
 public:
  SaysHowFar(const TokenRecipe& recipe, const Clock& clock)
      : clock_(clock), all_(bytes_of_files(recipe)), said_ns_(clock.now_ns()) {}

  void at(std::uint64_t bytes) {
    const std::int64_t now = clock_.now_ns();
    if (now - said_ns_ < line_period_ns) return;
    said_ns_ = now;
    log::info("tokenising: {} of {} MB", bytes / 1'000'000, all_ / 1'000'000);
  }

 private:
  const Clock& clock_;
  const std::uint64_t all_;
  std::int64_t said_ns_;
};

// Ends the reading.
struct EnoughDocuments {};

// Calls with the documents that may be chosen: no more than the first ones.
void make_first(const TokenRecipe& recipe, const UseMadeDocument& use) {
  std::int64_t made = 0;
  try {
    recipe.make([&](const MadeDocument& document) {
      if (document.ids.empty()) return;  // the cache has none of them either: rows are counted alike
      use(document);
      if (recipe.rows.max_samples && ++made == *recipe.rows.max_samples) throw EnoughDocuments();
    });
  } catch (const EnoughDocuments&) {
    return;
  }
}

std::shared_ptr<const TokenCorpus> made_in_memory(const TokenRecipe& recipe, const Clock& clock) {
  SaysHowFar how_far(recipe, clock);
  const auto add = [&](auto& corpus, const MadeDocument& document, const auto&... counted) {
    corpus.add_document(document.ids, counted...);
    if (recipe.wishes.with_places) corpus.add_place(document.place);
    how_far.at(document.bytes_read);
  };
  if (!recipe.some_count) {
    auto corpus = std::make_shared<MemoryCorpus>(recipe.vocab_size);
    make_first(recipe, [&](const MadeDocument& document) { add(*corpus, document); });
    return corpus;
  }
  auto corpus = std::make_shared<CountedCorpus>(recipe.vocab_size);
  make_first(recipe, [&](const MadeDocument& document) { add(*corpus, document, *document.counted); });
  return corpus;
}

std::string key_of(const TokenRecipe& recipe) {
  return shown_json(config::Json{recipe.files, recipe.keys, recipe.rows.max_samples.value_or(0)});
}

}  // namespace

std::shared_ptr<const TokenCorpus> SharedCorpora::find(const std::string& key) const {
  const auto found = corpora_.find(key);
  return found == corpora_.end() ? nullptr : found->second.lock();
}

void SharedCorpora::keep(const std::string& key, const std::shared_ptr<const TokenCorpus>& corpus) {
  corpora_[key] = corpus;
}

std::uint64_t bytes_of_files(const TokenRecipe& recipe) {
  std::uint64_t all = 0;
  for (const std::string& file : recipe.files) {
    std::error_code missing;  // reading it is the better error
    const std::uintmax_t size = std::filesystem::file_size(file, missing);
    if (!missing) all += size;
  }
  return all;
}

std::shared_ptr<const TokenCorpus> made_corpus(const TokenRecipe& recipe, const Clock& clock) {
  SharedCorpora* const share = recipe.rows.validation ? recipe.wishes.share.get() : nullptr;
  if (share == nullptr) return made_in_memory(recipe, clock);
  const std::string key = key_of(recipe);
  if (auto found = share->find(key)) return found;
  auto made = made_in_memory(recipe, clock);
  share->keep(key, made);
  return made;
}

}  // namespace d9d
