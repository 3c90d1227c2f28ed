#pragma once
// What runs through the stages of a rank (BeginStep.Pass in messages/pipeline.capnp), as actors keep and compare it.

#include <compare>
#include <cstdint>
#include <string>

#include "messages/pipeline.capnp.h"

namespace d9d {

using PassKind = wire::BeginStep::Pass::Kind;

struct Pass {
  PassKind kind = PassKind::TRAIN;
  std::uint32_t number = 0;

  bool trains() const { return kind == PassKind::TRAIN; }
  // A step of the job, and not something between two of them.
  bool is_step() const { return kind == PassKind::TRAIN || kind == PassKind::INFER; }
  // In the order in which the passes of one step follow each other.
  auto operator<=>(const Pass&) const = default;
};

Pass pass_of(wire::BeginStep::Pass::Reader message);
void fill_pass(wire::BeginStep::Pass::Builder message, const Pass& pass);
std::string to_string(const Pass& pass);  // "batch 3 of the evaluation"

}  // namespace d9d
