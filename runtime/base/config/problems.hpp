#pragma once
// Collects the mistakes in a config, so that a user sees all of them at once.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config/node.hpp"

namespace d9d::config {

struct Problem {
  Mark mark;
  std::string path;    // key path; empty for the file as a whole
  std::string what;    // what was given and what was expected
  std::string remedy;  // what to try; may be empty
};

// "job.yaml:3:5: trainer.run.nam: unknown key; did you mean "name"?"
std::string to_string(const Problem& problem);

class Problems {
 public:
  void error(Mark mark, std::string path, std::string what, std::string remedy);
  void warn(Mark mark, std::string path, std::string what, std::string remedy = {});
  // Appends to the remedy of the last error; there has to be one.
  void add_remedy(std::string_view more);

  const std::vector<Problem>& errors() const { return errors_; }
  const std::vector<Problem>& warnings() const { return warnings_; }

  // Throws one ErrorKind::input with every error, one a line,
  // if there is any. Its `where` is the first one's place.
  void throw_if_any() const;

 private:
  std::vector<Problem> errors_;
  std::vector<Problem> warnings_;
};

// The key path from the root to a value, kept on the stack while decoding.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;

  std::string str() const;
  std::string child(std::string_view key) const;
};

// Returns the candidate nearest to `given` by edit distance (Damerau: swapping neighbours counts
// one), or an empty text if none is near.
std::string nearest(std::string_view given, const std::vector<std::string_view>& candidates);
// `did you mean "x"?`, or `known: a, b, c` where nothing is near.
std::string suggestion(std::string_view given, const std::vector<std::string_view>& candidates);

}  // namespace d9d::config
