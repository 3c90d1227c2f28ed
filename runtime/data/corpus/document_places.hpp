#pragma once
// Remembers the file and row of each document. A document in the row after the one before
// takes no further memory.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/file/row_place.hpp"

namespace d9d {

class DocumentPlaces {
 public:
  // Adds the place of the next document.
  void add(const RowPlace& place) {
    if (files_.empty() || files_.back() != place.file) files_.emplace_back(place.file);
    const bool goes_on = !runs_.empty() && runs_.back().file == files_.size() - 1 &&
                         runs_.back().is_line == place.is_line &&
                         runs_.back().number + (count_ - runs_.back().first) == place.number;
    if (!goes_on) runs_.push_back({count_, place.number, files_.size() - 1, place.is_line});
    ++count_;
  }
  // The place of a document; nothing if it was added without one.
  std::optional<RowPlace> at(std::uint64_t document) const;

 private:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t number = 0;
    std::size_t file = 0;
    bool is_line = false;
  };
  std::deque<std::string> files_;  // a deque, so that pointers to its texts stay valid
  std::vector<Run> runs_;
  std::uint64_t count_ = 0;
};

}  // namespace d9d
