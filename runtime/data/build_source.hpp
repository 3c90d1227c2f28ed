#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"

namespace d9d {

struct SourceNeeds {
  std::uint64_t base_seed = 0;  // chooses the shuffled orders where a section has no seed
  // The size of the model's vocabulary, where it is known. An id that is not below it is an input
  // error: when the source is built or, for files of ids, when the id is read.
  std::optional<std::int64_t> ids_below{};
  // How many classes the labels of a classifier choose from.
  std::optional<std::int64_t> classes_below{};
  // Keeps or drops the tokens after the last whole row, where samples are rows of a stream.
  // Evaluation and inference keep them.
  RestOfRows rest = RestOfRows::left_out;
  // own: for tasks that read each token and learn no next one. A source whose labels a file or a plugin gives keeps
  // these.
  TokenLabels labels = TokenLabels::next;
  CorpusWishes wishes{};
  // Makes the source of a section whose `source` a plugin has registered.
  std::function<std::shared_ptr<const SampleSource>(const OwnDataConfig&)> make_own{};
};

// Builds the source that a job's `data` section asks for. With `source: text` all text is tokenised
// during this call. Build one source for each process and share it between its loaders.
std::shared_ptr<const SampleSource> build_source(const DataConfig& config, const SourceNeeds& needs);

}  // namespace d9d
