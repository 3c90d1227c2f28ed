#pragma once
// A corpus of some of the documents of another one.

#include <memory>

#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

// Returns the corpus itself if all documents are chosen. Errors as RowChoice.
std::shared_ptr<const TokenCorpus> chosen_documents(std::shared_ptr<const TokenCorpus> corpus,
                                                    const RowChoiceConfig& config);

}  // namespace d9d
