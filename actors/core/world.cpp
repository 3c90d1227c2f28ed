#include "actors/core/world.hpp"

#include "runtime/base/log.hpp"

namespace d9d {

void note_undelivered(World& world, std::string_view text) {
  if (world.undelivered.fetch_add(1) != 0) return;
  if (world.ending) {
    log::debug("{}", text);
  } else {
    log::warn("{} (further ones are only counted)", text);
  }
}

}  // namespace d9d
