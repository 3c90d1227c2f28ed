#include "actors/led_instruction.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using WireKind = wire::LeadAction::Kind;
constexpr std::pair<ActionKind, WireKind> kKinds[] = {
    {ActionKind::forward, WireKind::FORWARD},
    {ActionKind::backward, WireKind::BACKWARD},
    {ActionKind::backward_input, WireKind::BACKWARD_INPUT},
    {ActionKind::backward_weight, WireKind::BACKWARD_WEIGHT}};

WireKind to_wire(ActionKind kind) {
  for (const auto& [ours, theirs] : kKinds) {
    if (ours == kind) return theirs;
  }
  throw Error(ErrorKind::bug, "only compute actions are led");
}

ActionKind from_wire(WireKind kind) {
  for (const auto& [ours, theirs] : kKinds) {
    if (theirs == kind) return ours;
  }
  throw Error(ErrorKind::bug,
              fmt::format("the leader's action has the unknown kind {}", static_cast<int>(kind)));
}

}  // namespace

void fill_parts(wire::LeadAction::Builder lead, const Instruction& instruction) {
  auto parts = lead.initParts(static_cast<unsigned>(instruction.parts.size()));
  for (unsigned i = 0; i < parts.size(); ++i) {
    parts[i].setKind(to_wire(instruction.parts[i].kind));
    parts[i].setStage(static_cast<std::uint32_t>(instruction.parts[i].stage));
    parts[i].setMicrobatch(static_cast<std::uint32_t>(instruction.parts[i].microbatch));
  }
}

Instruction instruction_of(wire::LeadAction::Reader lead) {
  Instruction instruction;
  for (const auto part : lead.getParts()) {
    instruction.parts.push_back({from_wire(part.getKind()), static_cast<int>(part.getStage()),
                                 static_cast<int>(part.getMicrobatch())});
  }
  return instruction;
}

}  // namespace d9d
