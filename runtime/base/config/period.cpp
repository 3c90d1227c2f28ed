#include "runtime/base/config/period.hpp"

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"

namespace d9d::config {

bool is_due(const Period& period, std::int64_t steps_done, std::int64_t steps_total, bool also_last) {
  const bool last = steps_done == steps_total;
  switch (period.kind) {
    case Period::Kind::every:
      return steps_done % period.steps == 0 || (also_last && last);
    case Period::Kind::last_step:
      return last;
    case Period::Kind::disable:
      return false;
  }
  D9D_CHECK(false, "no kind {} of a period", static_cast<int>(period.kind));
}

bool Codec<Period>::read(Period& out, const Node& node, const Path& path, Problems& problems) {
  if (node.kind == Node::Kind::scalar) {
    if (node.text == "last_step") out = Period::last_step();
    if (node.text == "disable") out = Period::disable();
    if (node.text == "last_step" || node.text == "disable") return true;
    const auto steps = node.quoted ? std::nullopt : integer_from(node.text);
    if (steps && *steps > 0) {
      out = Period::every(*steps);
      return true;
    }
  }
  return wrong_type(node, path, problems, "a period", "write a number of steps > 0, last_step or disable");
}

Json Codec<Period>::write(const Period& period) {
  if (period.kind == Period::Kind::every) return period.steps;
  return period.kind == Period::Kind::last_step ? "last_step" : "disable";
}

}  // namespace d9d::config
