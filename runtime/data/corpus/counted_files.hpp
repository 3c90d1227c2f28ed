#pragma once
// The loss mask of Megatron's files: PREFIX.counted has a bit for each token, the lowest bit first.
// The file is there only if some tokens do not count in the loss.

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

class CountedWriter {
 public:
  // Errors as MegatronWriter.
  explicit CountedWriter(const std::string& prefix);
  void add(const std::vector<bool>& counted);
  void finish();  // call it once, at the end

 private:
  void add(bool counts);

  const std::string path_;
  std::ofstream out_;
  std::uint8_t byte_ = 0;
  unsigned bits_ = 0;  // of byte_
};

// Opens PREFIX.bin and PREFIX.idx, mapped, with the mask of PREFIX.counted if there is one. Errors
// as MegatronCorpus; a mask that is too short is an input error.
std::shared_ptr<const TokenCorpus> open_counted_files(const std::string& prefix,
                                                      std::optional<std::int64_t> ids_below);

}  // namespace d9d
