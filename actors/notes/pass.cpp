#include "actors/notes/pass.hpp"

#include <fmt/format.h>

namespace d9d {

Pass pass_of(wire::BeginStep::Pass::Reader message) {
  return {message.getKind(), message.getNumber()};
}

void fill_pass(wire::BeginStep::Pass::Builder message, const Pass& pass) {
  message.setKind(pass.kind);
  message.setNumber(pass.number);
}

std::string to_string(const Pass& pass) {
  switch (pass.kind) {
    case PassKind::TRAIN:
    case PassKind::INFER:
      return "the step itself";
    case PassKind::EVALUATE:
      return fmt::format("batch {} of the evaluation", pass.number);
    case PassKind::TEXTS:
      return fmt::format("texts {}", pass.number);
    case PassKind::ROLLOUTS:
      return fmt::format("the rollouts for step {}", pass.number);
  }
  return fmt::format("pass of kind {}", static_cast<int>(pass.kind));
}

}  // namespace d9d
