#include "kernels/optimizer/code_book.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/ops/optimizer_ops.hpp"

namespace d9d::kernels {
namespace {

constexpr double powers_of_ten[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0};

// Returns 0, 1, and the magnitudes between: `first` of the smallest power of ten, twice as many
// of each next power.
std::vector<double> magnitudes_from(std::int64_t first) {
  std::vector<double> values = {0};
  for (const double power : powers_of_ten) {
    for (std::int64_t i = 0; i < first; ++i) {
      values.push_back(power * (0.1 + 0.9 * static_cast<double>(2 * i + 1) / static_cast<double>(2 * first)));
    }
    first *= 2;
  }
  values.push_back(1);
  return values;
}

CodeSide side_of(const std::vector<double>& magnitudes) {
  CodeSide side;
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    side.middle[i] = i + 1 < magnitudes.size() ? static_cast<float>((magnitudes[i] + magnitudes[i + 1]) / 2)
                                               : std::numeric_limits<float>::infinity();
  }
  side.size = static_cast<int>(magnitudes.size());
  return side;
}

CodeTables make_tables(CodeBook kind) {
  const bool positive = kind == CodeBook::positive;
  std::vector<double> below = magnitudes_from(1);
  below.erase(below.end() - 2);  // 256 bytes have no room for both 0.993 and 1
  const std::vector<double> above = magnitudes_from(positive ? 2 : 1);
  CodeTables tables{side_of(above), side_of(below)};
  for (std::size_t i = 0; i < above.size(); ++i) tables.value[i] = static_cast<float>(above[i]);
  for (std::size_t i = 1; !positive && i < below.size(); ++i)
    tables.value[256 - i] = -static_cast<float>(below[i]);
  return tables;
}

}  // namespace

const CodeTables& code_tables(CodeBook book) {
  static const CodeTables either = make_tables(CodeBook::either_sign),
                          positive = make_tables(CodeBook::positive);
  return book == CodeBook::positive ? positive : either;
}

}  // namespace d9d::kernels
