#pragma once
// Which tokens of Megatron's files count in the loss: PREFIX.counted, a bit a token, the lowest first. It stands
// beside PREFIX.bin where not all of them do.

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

// The tokens of PREFIX.bin and PREFIX.idx, mapped, with what PREFIX.counted says if it is there. Errors as
// MegatronCorpus; a file that is too short is an input error.
std::shared_ptr<const TokenCorpus> open_counted_files(const std::string& prefix,
                                                      std::optional<std::int64_t> ids_below);

}  // namespace d9d
