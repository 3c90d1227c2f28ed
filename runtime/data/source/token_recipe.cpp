#include "runtime/data/source/token_recipe.hpp"

#include <filesystem>

#include "runtime/base/log.hpp"
#include "runtime/data/corpus/counted_corpus.hpp"
#include "runtime/data/source/token_cache.hpp"

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

std::shared_ptr<const TokenCorpus> made_in_memory(const TokenRecipe& recipe, const Clock& clock) {
  SaysHowFar how_far(recipe, clock);
  if (!recipe.some_count) {
    auto corpus = std::make_shared<MemoryCorpus>(recipe.vocab_size);
    recipe.make([&](const MadeDocument& document) {
      corpus->add_document(document.ids);
      how_far.at(document.bytes_read);
    });
    return corpus;
  }
  auto corpus = std::make_shared<CountedCorpus>(recipe.vocab_size);
  recipe.make([&](const MadeDocument& document) {
    corpus->add_document(document.ids, *document.counted);
    how_far.at(document.bytes_read);
  });
  return corpus;
}

}  // namespace

std::uint64_t bytes_of_files(const TokenRecipe& recipe) {
  std::uint64_t all = 0;
  for (const std::string& file : recipe.files) {
    std::error_code missing;  // reading it is the better error
    const std::uintmax_t size = std::filesystem::file_size(file, missing);
    if (!missing) all += size;
  }
  return all;
}

std::shared_ptr<const TokenCorpus> corpus_of(const TokenRecipe& recipe, const Clock& clock) {
  if (auto cached = find_tokens(recipe)) return cached;
  if (recipe.cache) {
    log::warn(
        "data.cache: {} has no tokens of these files, so they are made now and kept in memory; "
        "`d9d-node data prepare` makes them once for all runs",
        *recipe.cache);
  }
  return made_in_memory(recipe, clock);
}

}  // namespace d9d
