#include "actors/notes/led_instruction.hpp"

#include "actors/core/wire_pairs.hpp"

namespace d9d {
namespace {

// Transfers are not led, so they have no kind on the wire.
constexpr WirePairs part_kinds{
    "LeadAction.parts.kind",
    std::array{std::pair{ActionKind::forward, wire::LeadAction::Kind::FORWARD},
               std::pair{ActionKind::backward, wire::LeadAction::Kind::BACKWARD},
               std::pair{ActionKind::backward_input, wire::LeadAction::Kind::BACKWARD_INPUT},
               std::pair{ActionKind::backward_weight, wire::LeadAction::Kind::BACKWARD_WEIGHT}}};

}  // namespace

void fill_parts(wire::LeadAction::Builder lead, const Instruction& instruction) {
  auto parts = lead.initParts(static_cast<unsigned>(instruction.parts.size()));
  for (unsigned i = 0; i < parts.size(); ++i) {
    parts[i].setKind(part_kinds.to_wire(instruction.parts[i].kind));
    parts[i].setStage(static_cast<std::uint32_t>(instruction.parts[i].stage));
    parts[i].setMicrobatch(static_cast<std::uint32_t>(instruction.parts[i].microbatch));
  }
}

Instruction instruction_of(wire::LeadAction::Reader lead) {
  Instruction instruction;
  for (const auto part : lead.getParts()) {
    instruction.parts.push_back({part_kinds.from_wire(part.getKind()), static_cast<int>(part.getStage()),
                                 static_cast<int>(part.getMicrobatch())});
  }
  return instruction;
}

}  // namespace d9d
