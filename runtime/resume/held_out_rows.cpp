#include "runtime/resume/held_out_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/data/config/data_parts.hpp"

namespace d9d {
namespace {

enum class Held { none, by_own_seed, by_base_seed };

Held held_out_by(const DataPart& part) {
  return std::visit(
      [](const auto& source) {
        if constexpr (requires { source.validation; }) {
          if (source.validation) return source.seed ? Held::by_own_seed : Held::by_base_seed;
        }
        return Held::none;
      },
      part.source);
}

// The seed draws them, among the first max_samples rows.
bool chooses_rows(const std::string& key, const std::string& section, Held held) {
  return key == section + ".seed" || key == section + ".max_samples" || key == section + ".validation" ||
         key.starts_with(section + ".validation.") ||
         (held == Held::by_base_seed && key == "trainer.determinism.base_seed");
}

}  // namespace

std::string told_held_out(const std::vector<KeyDifference>& differences, const JobConfig& now,
                          std::uint64_t steps) {
  if (steps == 0) return {};
  for (const DataPart& part : parts_of(now.data)) {
    const Held held = held_out_by(part);
    if (held == Held::none) continue;
    // A key of the section that is gone is another one's turn.
    const std::string section = part.path + ".validation";
    const auto key = std::ranges::find_if(differences, [&](const KeyDifference& difference) {
      const bool is_gone = difference.mine == "null" || difference.mine == "missing";
      return !(is_gone && difference.key.starts_with(section)) &&
             chooses_rows(difference.key, part.path, held);
    });
    if (key == differences.end()) continue;
    return fmt::format(
        "{0}.validation: other rows are held out now ({1} has changed), and the {2} steps that are done may "
        "have trained on them, so evaluations of them look better than of new rows. Evaluate other data "
        "(evaluation.data), or start with --fresh to train without them",
        part.path, key->key, steps);
  }
  return {};
}

}  // namespace d9d
