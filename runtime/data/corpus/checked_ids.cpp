#include "runtime/data/corpus/checked_ids.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::uint64_t document_of(const TokenCorpus& corpus, std::uint64_t token) {
  std::uint64_t low = 0, high = corpus.num_documents();
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (corpus.begin_of(middle) <= token ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string place_of_token(const TokenCorpus& corpus, std::uint64_t token, const std::string& name) {
  const std::uint64_t document = document_of(corpus, token);
  const auto place = corpus.place_of(document);
  if (!place) return fmt::format("{}: token {}", name, token);
  return fmt::format("{}: token {}", text_of(*place), token - corpus.begin_of(document));
}

void require_ids(const TokenCorpus& corpus, std::uint64_t first, std::span<const std::int64_t> ids,
                 const std::optional<std::int64_t>& ids_below, const std::string& name) {
  const auto is_good = [&](std::int64_t id) { return id >= 0 && (!ids_below || id < *ids_below); };
  const auto bad = std::ranges::find_if_not(ids, is_good);
  if (bad == ids.end()) return;
  const std::string place =
      place_of_token(corpus, first + static_cast<std::uint64_t>(bad - ids.begin()), name);
  D9D_REQUIRE(*bad >= 0, "{} is {}, expected 0 or more", place, *bad);
  throw Error(ErrorKind::input,
              fmt::format("{} is {}, but model_provider.model.vocab_size is {}; raise it, or mend the file",
                          place, *bad, *ids_below));
}

}  // namespace d9d
