#pragma once
// What another process prints, in whole lines that say whose they are. Pure.

#include <string>
#include <string_view>

namespace d9d {

class LineRelay {
 public:
  // `mark` comes before each line.
  explicit LineRelay(std::string mark) : mark_(std::move(mark)) {}

  // The lines that this piece ends. A line that grows beyond all measure is cut.
  std::string add(std::string_view piece);
  // What the process has left without an end of line.
  std::string rest();

 private:
  const std::string mark_;
  std::string open_;  // the line that has not ended
};

}  // namespace d9d
