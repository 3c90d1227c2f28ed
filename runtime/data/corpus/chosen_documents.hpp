#pragma once
// Some documents of a corpus as a corpus.

#include <memory>

#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

// The corpus itself where all are chosen. Errors as RowChoice.
std::shared_ptr<const TokenCorpus> chosen_documents(std::shared_ptr<const TokenCorpus> corpus,
                                                    const RowChoiceConfig& config);

}  // namespace d9d
