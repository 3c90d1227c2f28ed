#include "runtime/base/config/problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d::config {
namespace {

std::string body(const Problem& problem) {
  std::string text = problem.path.empty() ? problem.what : problem.path + ": " + problem.what;
  return problem.remedy.empty() ? text : text + "; " + problem.remedy;
}

// Optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string to_string(const Problem& problem) {
  return to_string(problem.mark) + ": " + body(problem);
}

void Problems::error(Mark mark, std::string path, std::string what, std::string remedy) {
  errors_.push_back({std::move(mark), std::move(path), std::move(what), std::move(remedy)});
}

void Problems::warn(Mark mark, std::string path, std::string what, std::string remedy) {
  warnings_.push_back({std::move(mark), std::move(path), std::move(what), std::move(remedy)});
}

void Problems::add_remedy(std::string_view more) {
  errors_.back().remedy += more;
}

void Problems::throw_if_any() const {
  if (errors_.empty()) return;
  constexpr std::size_t lines_max = 20;
  std::string text = body(errors_.front());
  for (std::size_t i = 1; i < std::min(errors_.size(), lines_max); ++i) {
    text += "\n" + to_string(errors_[i]);
  }
  if (errors_.size() > lines_max) text += fmt::format("\nand {} more", errors_.size() - lines_max);
  throw Error(ErrorKind::input, std::move(text), to_string(errors_.front().mark));
}

std::string Path::str() const {
  if (!parent) return std::string(name);
  const std::string before = parent->str();
  return before.empty() ? std::string(name) : before + "." + std::string(name);
}

std::string Path::child(std::string_view key) const {
  return Path{this, key}.str();
}

std::string nearest(std::string_view given, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(given, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  // A third of the letters wrong is still a slip of the pen;
  // more is another word, unless one contains the other.
  const std::size_t allowed = std::max<std::size_t>(1, std::max(given.size(), best.size()) / 3);
  if (best_distance <= allowed) return std::string(best);
  for (const std::string_view candidate : candidates) {
    const bool contains =
        candidate.find(given) != std::string_view::npos || given.find(candidate) != std::string_view::npos;
    if (given.size() >= 3 && candidate.size() >= 3 && contains) return std::string(candidate);
  }
  return {};
}

std::string suggestion(std::string_view given, const std::vector<std::string_view>& candidates) {
  if (candidates.empty()) return "nothing is known here; remove it";
  const std::string near = nearest(given, candidates);
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return fmt::format("known: {}", fmt::join(candidates, ", "));
}

}  // namespace d9d::config
